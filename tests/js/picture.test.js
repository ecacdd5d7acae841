// A picture whose page is left: what a script goes on computing is drawn no more.
import assert from "node:assert/strict";
import test from "node:test";

import { Picture } from "../../apps/explorer/assets/core/picture.js";

test("a picture is drawn until its page is left", () => {
  let drawn = 0;
  class Counted extends Picture {
    draw() {
      drawn++;
    }
  }
  const picture = new Counted({}, null);
  picture.show([1]);
  assert.equal(drawn, 1);
  picture.ended = true;
  picture.show([2]);
  picture.update();
  assert.equal(drawn, 1);
});
