// The model of one transfer: what each mechanism does, by hand.
import assert from "node:assert/strict";
import test from "node:test";
import { transfer } from "../../src/tcpdynamics/apps/explorer/assets/core/transfer.js";

const DATA = 0.01,
  WAY = 0.05;
/** @param {Record<string, any>} more */
const run = (more = {}) =>
  transfer({
    segments: 8,
    window: 4,
    advertised: 100,
    rto: 0.4,
    delay: WAY,
    dataTime: DATA,
    ackTime: 0,
    leap: false,
    losesData: () => false,
    losesAck: () => false,
    end: 60,
    ...more,
  });
const segments = ({ sends }) => sends.map((one) => one.segment + 1);

test("without drops the window grows by a packet an ACK, and each packet arrives once", () => {
  const one = run();
  assert.deepEqual(segments(one), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(one.duplicates, 0);
  assert.equal(one.timeouts.length, 0);
  assert.ok(Math.abs(one.sends[4].time - (DATA + 2 * WAY)) < 1e-12);
});

test("a later ACK covers a lost one; if all are lost, a packet goes twice", () => {
  assert.equal(run({ losesAck: (n) => n === 1 }).timeouts.length, 0);
  const all = run({ losesAck: (n) => n < 4 });
  assert.equal(all.timeouts.length, 1);
  assert.equal(all.duplicates, 1);
});

test("three duplicate ACKs repair a drop without a timeout", () => {
  const one = run({ window: 6, losesData: (s, t) => s === 1 && t === 1 });
  assert.equal(one.timeouts.length, 0);
  assert.deepEqual(
    one.sends.filter((send) => send.kind === "fast").map((send) => send.segment),
    [1],
  );
});

test("the timer doubles while the retransmission is dropped", () => {
  const one = run({ window: 1, losesData: (s, t) => s === 0 && t <= 2 });
  assert.deepEqual(
    one.timeouts.map((t) => Number(t.toFixed(9))),
    [0.4, 1.2],
  );
});

test("Fig. 5 of the paper: packet 4 and all ACKs are lost", () => {
  const lost = { losesData: (s, t) => s === 3 && t === 1, losesAck: (n) => n < 3 };
  assert.deepEqual(segments(run(lost)).slice(4, 7), [1, 4, 5]);
  const leap = run({ ...lost, leap: true });
  assert.deepEqual(segments(leap).slice(4, 7), [5, 4, 6]);
  assert.deepEqual([run(lost).duplicates, leap.duplicates], [1, 0]);
});

test("a packet is called new where it goes out for the first time, and sent again otherwise", () => {
  for (let drops = 0; drops < 2 ** 12; drops++) {
    const has = (/** @type {number} */ place) => Math.floor(drops / 2 ** place) % 2 === 1,
      losesData = (/** @type {number} */ s, /** @type {number} */ t) => s < 4 && t <= 2 && has(4 * (t - 1) + s);
    const { sends } = run({ losesData, losesAck: (/** @type {number} */ n) => n < 4 && has(8 + n), leap: true });
    for (const { kind, transmission } of sends) assert.equal(["new", "leap"].includes(kind), transmission === 1);
  }
});
