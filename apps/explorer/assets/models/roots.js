// @ts-check
// Eigenvalues of a small matrix, and the rightmost characteristic roots of a linear delay equation
// x'(t) = A_0 x(t) + sum A_k x(t - lag_k).

/** @typedef {{ re: number, im: number }} Root */
/** @typedef {{ now: number[][], past: { lag: number, matrix: number[][] }[] }} Linear */

/** Rows and columns scaled by powers of two until they are alike (Parlett, Reinsch). @param {Float64Array[]} a */
const balance = (a) => {
  const n = a.length;
  for (let again = true, rounds = 0; again && rounds < 30; rounds++) {
    again = false;
    for (let i = 0; i < n; i++) {
      let c = 0,
        r = 0;
      for (let j = 0; j < n; j++) {
        if (j === i) continue;
        c += Math.abs(a[j][i]);
        r += Math.abs(a[i][j]);
      }
      if (!(c > 0 && r > 0 && Number.isFinite(c + r))) continue;
      const f = 2 ** Math.round(Math.log2(r / c) / 2);
      if (f === 1 || (c * f + r / f) / (c + r) > 0.95) continue;
      again = true;
      for (let j = 0; j < n; j++) a[i][j] /= f;
      for (let j = 0; j < n; j++) a[j][i] *= f;
    }
  }
};

/** To upper Hessenberg form, by eliminations with pivots. @param {Float64Array[]} a */
const hessenberg = (a) => {
  const n = a.length;
  for (let m = 1; m < n - 1; m++) {
    let pivot = m;
    for (let j = m + 1; j < n; j++) if (Math.abs(a[j][m - 1]) > Math.abs(a[pivot][m - 1])) pivot = j;
    if (a[pivot][m - 1] === 0) continue;
    if (pivot !== m) {
      [a[pivot], a[m]] = [a[m], a[pivot]];
      for (let j = 0; j < n; j++) [a[j][pivot], a[j][m]] = [a[j][m], a[j][pivot]];
    }
    const top = a[m];
    for (let i = m + 1; i < n; i++) {
      const row = a[i],
        y = row[m - 1] / top[m - 1];
      row[m - 1] = 0;
      if (y === 0) continue;
      for (let j = m; j < n; j++) row[j] -= y * top[j];
      for (let j = 0; j < n; j++) a[j][m] += y * a[j][i];
    }
  }
};

/**
 * Eigenvalues of a real matrix, in no order: balanced, to Hessenberg form, then Francis's double steps (EISPACK's
 * hqr). Null where they do not come, or where the matrix has no finite numbers.
 * @param {ArrayLike<number>[]} matrix
 * @returns {Root[] | null}
 */
export const eigenvalues = (matrix) => {
  const a = Array.from(matrix, (row) => Float64Array.from(row)),
    size = a.length,
    roots = /** @type {Root[]} */ ([]);
  if (!a.every((row) => row.every(Number.isFinite))) return null;
  balance(a);
  hessenberg(a);
  let norm = 0;
  for (let i = 0; i < size; i++) for (let j = Math.max(i - 1, 0); j < size; j++) norm += Math.abs(a[i][j]);
  let end = size - 1,
    shift = 0,
    turns = 0;
  while (end >= 0) {
    let low = end;
    for (; low > 0; low--) {
      const s = Math.abs(a[low - 1][low - 1]) + Math.abs(a[low][low]) || norm;
      if (Math.abs(a[low][low - 1]) <= 2.3e-16 * s) {
        a[low][low - 1] = 0;
        break;
      }
    }
    let x = a[end][end];
    if (low === end) {
      roots.push({ re: x + shift, im: 0 });
      end--;
      turns = 0;
      continue;
    }
    let y = a[end - 1][end - 1],
      w = a[end][end - 1] * a[end - 1][end];
    if (low === end - 1) {
      const p = (y - x) / 2,
        q = p * p + w,
        z = Math.sqrt(Math.abs(q));
      if (q >= 0) {
        const far = p + (p >= 0 ? z : -z);
        roots.push({ re: x + shift + far, im: 0 }, { re: x + shift - (far ? w / far : -far), im: 0 });
      } else roots.push({ re: x + shift + p, im: z }, { re: x + shift + p, im: -z });
      end -= 2;
      turns = 0;
      continue;
    }
    if (++turns > 60) return null;
    if (turns % 10 === 0) {
      shift += x;
      for (let i = 0; i <= end; i++) a[i][i] -= x;
      const s = Math.abs(a[end][end - 1]) + Math.abs(a[end - 1][end - 2]);
      x = y = 0.75 * s;
      w = -0.4375 * s * s;
    }
    step(a, low, end, x, y, w);
  }
  return roots;
};

/** A double step of the QR method on rows low..end. */
const step = (a, low, end, x, y, w) => {
  let p = 0,
    q = 0,
    r = 0,
    m = end - 2;
  for (; ; m--) {
    const z = a[m][m],
      rest = x - z,
      s = y - z;
    p = (rest * s - w) / a[m + 1][m] + a[m][m + 1];
    q = a[m + 1][m + 1] - z - rest - s;
    r = a[m + 2][m + 1];
    const size = Math.abs(p) + Math.abs(q) + Math.abs(r);
    p /= size;
    q /= size;
    r /= size;
    if (m === low) break;
    const u = Math.abs(a[m][m - 1]) * (Math.abs(q) + Math.abs(r));
    if (u <= 2.3e-16 * Math.abs(p) * (Math.abs(a[m - 1][m - 1]) + Math.abs(z) + Math.abs(a[m + 1][m + 1]))) break;
  }
  for (let i = m + 2; i <= end; i++) {
    a[i][i - 2] = 0;
    if (i > m + 2) a[i][i - 3] = 0;
  }
  for (let k = m; k < end; k++) {
    const last = k === end - 1;
    let size = 0;
    if (k !== m) {
      p = a[k][k - 1];
      q = a[k + 1][k - 1];
      r = last ? 0 : a[k + 2][k - 1];
      size = Math.abs(p) + Math.abs(q) + Math.abs(r);
      if (size === 0) continue;
      p /= size;
      q /= size;
      r /= size;
    }
    const s = Math.sqrt(p * p + q * q + r * r) * (p < 0 ? -1 : 1);
    if (s === 0) continue;
    if (k !== m) a[k][k - 1] = -s * size;
    else if (low !== m) a[k][k - 1] = -a[k][k - 1];
    p += s;
    const fx = p / s,
      fy = q / s,
      fz = r / s;
    q /= p;
    r /= p;
    for (let j = k; j <= end; j++) {
      const t = a[k][j] + q * a[k + 1][j] + (last ? 0 : r * a[k + 2][j]);
      if (!last) a[k + 2][j] -= t * fz;
      a[k + 1][j] -= t * fy;
      a[k][j] -= t * fx;
    }
    const foot = Math.min(end, k + 3);
    for (let i = low; i <= foot; i++) {
      const t = fx * a[i][k] + fy * a[i][k + 1] + (last ? 0 : fz * a[i][k + 2]);
      if (!last) a[i][k + 2] -= t * r;
      a[i][k + 1] -= t * q;
      a[i][k] -= t;
    }
  }
};

/** Chebyshev's places on [-1, 1], the matrix of derivatives there, and weights of the interpolation. */
const places = {};
const chebyshev = (N) => {
  if (places[N]) return places[N];
  const x = Array.from({ length: N + 1 }, (_, i) => Math.cos((Math.PI * i) / N)),
    c = x.map((_, i) => (i === 0 || i === N ? 2 : 1) * (i % 2 ? -1 : 1));
  const D = x.map((xi, i) => Float64Array.from(x, (xj, j) => (i === j ? 0 : c[i] / c[j] / (xi - xj))));
  D.forEach((row, i) => (row[i] = -row.reduce((sum, d) => sum + d, 0)));
  return (places[N] = { x, D, weights: c.map((one) => 1 / one) });
};

/** The shares that each place has in the value at z. */
const shares = ({ x, weights }, z) => {
  const exact = x.findIndex((one) => Math.abs(one - z) < 1e-14);
  if (exact >= 0) return x.map((_, i) => (i === exact ? 1 : 0));
  const terms = x.map((one, i) => weights[i] / (z - one)),
    sum = terms.reduce((a, b) => a + b, 0);
  return terms.map((one) => one / sum);
};

/**
 * Breda, Maset and Vermiglio's matrix of the generator on N + 1 places: states now, then the past of those that have
 * one. @param {Linear} linear @param {number} N
 */
export const generator = ({ now, past }, N) => {
  const n = now.length,
    longest = Math.max(...past.map((one) => one.lag)),
    grid = chebyshev(N);
  const kept = now.map((_, s) => s).filter((s) => past.some(({ matrix }) => matrix.some((row) => row[s] !== 0)));
  const m = kept.length,
    size = n + m * N,
    a = Array.from({ length: size }, () => new Float64Array(size));
  const place = (j, s) => (j === 0 ? kept[s] : n + (j - 1) * m + s);
  now.forEach((row, i) => row.forEach((value, j) => (a[i][j] = value)));
  for (const { lag, matrix } of past) {
    const share = shares(grid, 1 - (2 * lag) / longest);
    for (let j = 0; j <= N; j++)
      for (let s = 0; s < m; s++) for (let i = 0; i < n; i++) a[i][place(j, s)] += share[j] * matrix[i][kept[s]];
  }
  for (let i = 1; i <= N; i++)
    for (let j = 0; j <= N; j++) for (let s = 0; s < m; s++) a[place(i, s)][place(j, s)] = (2 / longest) * grid.D[i][j];
  return a;
};

/** How large the matrices are, whatever the units of the states. @param {Linear} linear */
const largest = ({ now, past }) => {
  const all = now.map((row, i) =>
    Float64Array.from(row, (x, j) => Math.abs(x) + past.reduce((sum, { matrix }) => sum + Math.abs(matrix[i][j]), 0)),
  );
  balance(all);
  return Math.max(...all.map((row) => row.reduce((a, b) => a + b, 0)));
};

/** trace(M^-1 D) of complex matrices, each as [real, imaginary]; they are small. */
const traced = (M, D, n) => {
  const [Mr, Mi] = M,
    [Dr, Di] = D;
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++)
      if (Math.hypot(Mr[i][k], Mi[i][k]) > Math.hypot(Mr[pivot][k], Mi[pivot][k])) pivot = i;
    for (const one of [Mr, Mi, Dr, Di]) [one[k], one[pivot]] = [one[pivot], one[k]];
    const size = Mr[k][k] ** 2 + Mi[k][k] ** 2;
    if (!(size > 0)) return null;
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const fr = (Mr[i][k] * Mr[k][k] + Mi[i][k] * Mi[k][k]) / size,
        fi = (Mi[i][k] * Mr[k][k] - Mr[i][k] * Mi[k][k]) / size;
      for (let j = 0; j < n; j++) {
        Mr[i][j] -= fr * Mr[k][j] - fi * Mi[k][j];
        Mi[i][j] -= fr * Mi[k][j] + fi * Mr[k][j];
        Dr[i][j] -= fr * Dr[k][j] - fi * Di[k][j];
        Di[i][j] -= fr * Di[k][j] + fi * Dr[k][j];
      }
    }
  }
  let re = 0,
    im = 0;
  for (let k = 0; k < n; k++) {
    const size = Mr[k][k] ** 2 + Mi[k][k] ** 2;
    re += (Dr[k][k] * Mr[k][k] + Di[k][k] * Mi[k][k]) / size;
    im += (Di[k][k] * Mr[k][k] - Dr[k][k] * Mi[k][k]) / size;
  }
  return [re, im];
};

/**
 * A root of det(z - A_0 - sum A_k exp(-z lag_k)) near z, by Newton's method on the determinant's logarithm; null where
 * it goes elsewhere. @param {Linear} linear @param {Root} from @returns {Root | null}
 */
export const polished = ({ now, past }, from) => {
  const n = now.length,
    near = 0.5 * (Math.hypot(from.re, from.im) + 1 / Math.max(...past.map((one) => one.lag)));
  let { re, im } = from;
  for (let turn = 0; turn < 30; turn++) {
    const Mr = now.map((row, i) => Float64Array.from(row, (x, j) => (i === j ? re : 0) - x)),
      Mi = now.map((_, i) => Float64Array.from(now, (_, j) => (i === j ? im : 0))),
      Dr = now.map((_, i) => Float64Array.from(now, (_, j) => (i === j ? 1 : 0))),
      Di = now.map(() => new Float64Array(n));
    for (const { lag, matrix } of past) {
      const size = Math.exp(-re * lag),
        [c, s] = [size * Math.cos(im * lag), -size * Math.sin(im * lag)];
      for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++) {
          const x = matrix[i][j];
          Mr[i][j] -= x * c;
          Mi[i][j] -= x * s;
          Dr[i][j] += lag * x * c;
          Di[i][j] += lag * x * s;
        }
    }
    const slope = traced([Mr, Mi], [Dr, Di], n);
    if (!slope) return { re, im }; // the matrix is singular: this is the root
    const size = slope[0] ** 2 + slope[1] ** 2,
      [dr, di] = [slope[0] / size, -slope[1] / size];
    if (!Number.isFinite(dr + di)) return null;
    re -= dr;
    im -= di;
    if (Math.hypot(re - from.re, im - from.im) > near) return null;
    if (Math.hypot(dr, di) < 1e-14 * (Math.hypot(re, im) + 1e-3 * near)) return { re, im };
  }
  return { re, im };
};

const rightmost = (roots) => roots.sort((a, b) => b.re - a.re || b.im - a.im);

/**
 * The `count` rightmost roots, upper ones of a pair first; null where there are none.
 * @param {Linear} linear lags above zero
 * @param {number} count
 * @returns {Root[] | null}
 */
export const roots = (linear, count) => {
  const past = linear.past.filter(({ matrix }) => matrix.some((row) => row.some((x) => x !== 0)));
  if (!past.length) {
    const found = eigenvalues(linear.now);
    return found && rightmost(found).slice(0, count);
  }
  const longest = Math.max(...past.map((one) => one.lag)),
    delayed = { now: linear.now, past };
  const need = 8 + 2 * (count > 1 ? count : 0) + Math.ceil(longest * largest(delayed));
  const found = eigenvalues(generator(delayed, Math.max(8, Math.min(count > 1 ? 40 : 24, need))));
  if (!found) return null;
  const exact = /** @type {Root[]} */ ([]);
  for (const root of rightmost(found.filter((one) => one.im >= 0)).slice(0, count + 2)) {
    const one = polished(delayed, root);
    if (!one) {
      if (!exact.length && count === 1) exact.push(root);
      continue;
    }
    if (Math.abs(one.im) < 1e-9 * (Math.abs(one.re) + 1 / longest)) one.im = 0;
    const same = (other) =>
      Math.hypot(one.re - other.re, one.im - other.im) < 1e-8 * (Math.hypot(one.re, one.im) + 1 / longest);
    // a root that is found twice is one: a double one is rare, and counts once in a picture
    if (!exact.some(same)) exact.push(one);
  }
  const pairs = exact.flatMap((one) => (one.im > 0 ? [one, { re: one.re, im: -one.im }] : [one]));
  return pairs.length ? rightmost(pairs).slice(0, count) : null;
};
