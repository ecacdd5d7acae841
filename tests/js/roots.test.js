// Run by node --test: eigenvalues and characteristic roots against closed forms.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eigenvalues, roots } from "../../apps/explorer/assets/models/roots.js";

const sorted = (rows) => rows.map((z) => [z.re, z.im]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
const close = (a, b, allowed) => assert.ok(Math.abs(a - b) <= allowed, `${a} against ${b}`);

test("eigenvalues: those of a companion matrix are the roots of its polynomial", () => {
  const wanted = [-3, -1, 0.5, 2, 4]; // (x + 3)(x + 1)(x - 0.5)(x - 2)(x - 4)
  let poly = [1];
  for (const r of wanted) poly = [...poly, 0].map((c, i) => c - (i ? r * poly[i - 1] : 0));
  const n = wanted.length;
  const companion = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => (i === 0 ? -poly[j + 1] : i === j + 1 ? 1 : 0)),
  );
  const found = sorted(/** @type {any} */ (eigenvalues(companion)));
  found.forEach(([re, im], i) => {
    close(re, wanted[i], 1e-10);
    close(im, 0, 1e-10);
  });
});

test("eigenvalues: sums and products of drawn matrices are trace and determinant", () => {
  let seed = 7;
  const draw = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648) * 2 - 1;
  for (let k = 0; k < 300; k++) {
    const n = 1 + (k % 12),
      a = Array.from({ length: n }, () => Array.from({ length: n }, draw));
    const found = /** @type {any[]} */ (eigenvalues(a));
    assert.equal(found.length, n);
    close(
      found.reduce((s, z) => s + z.re, 0),
      a.reduce((s, row, i) => s + row[i], 0),
      1e-12 * n,
    );
    const square = a.reduce((s, row, i) => s + row.reduce((t, x, j) => t + x * a[j][i], 0), 0);
    close(
      found.reduce((s, z) => s + z.re * z.re - z.im * z.im, 0),
      square,
      1e-11 * n * n,
    );
  }
});

test("eigenvalues: a circulant has roots of unity", () => {
  const n = 9,
    a = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (j === (i + 1) % n ? 1 : 0)));
  for (const z of /** @type {any[]} */ (eigenvalues(a))) close(Math.hypot(z.re, z.im), 1, 1e-12);
  assert.equal(eigenvalues([[NaN]]), null);
});

test("Hutchinson: at gain times delay pi/2 the leading roots are imaginary", () => {
  for (const lag of [0.01, 1, 30]) {
    const k = Math.PI / 2 / lag;
    const [first, second] = /** @type {any} */ (roots({ now: [[0]], past: [{ lag, matrix: [[-k]] }] }, 2));
    close(first.re, 0, 1e-12 * k);
    close(first.im, k, 1e-12 * k);
    assert.equal(second.im, -first.im);
  }
});

test("delayed decay: roots are those of Lambert's function", () => {
  for (const k of [0.1, 0.3, 1, 3, 10]) {
    for (const z of /** @type {any[]} */ (roots({ now: [[0]], past: [{ lag: 1, matrix: [[-k]] }] }, 6))) {
      const size = k * Math.exp(-z.re);
      close(z.re, -size * Math.cos(z.im), 1e-9 * (1 + size));
      close(z.im, size * Math.sin(z.im), 1e-9 * (1 + size));
    }
  }
});

test("without a past the roots are eigenvalues, rightmost first", () => {
  const found = /** @type {any[]} */ (
    roots(
      {
        now: [
          [0, 1],
          [-1, 0.2],
        ],
        past: [],
      },
      6,
    )
  );
  close(found[0].re, 0.1, 1e-12);
  close(found[0].im, Math.sqrt(0.99), 1e-12);
  assert.equal(found.length, 2);
});
