// @ts-check
// A table as a NetCDF file in the classic format: a variable over `row` for each column, with its name and its unit.
const CHAR = 2,
  DOUBLE = 6,
  DIMENSIONS = 10,
  VARIABLES = 11,
  ATTRIBUTES = 12,
  utf8 = new TextEncoder();

const int = (n) => {
  const four = new Uint8Array(4);
  new DataView(four.buffer).setInt32(0, n);
  return four;
};
const padded = (bytes) => {
  const whole = new Uint8Array(4 * Math.ceil(bytes.length / 4));
  whole.set(bytes);
  return whole;
};
const text = (words) => {
  const bytes = utf8.encode(words);
  return [int(bytes.length), padded(bytes)];
};
const list = (kind, items) => (items.length ? [int(kind), int(items.length), items] : [int(0), int(0)]);
const attributes = (pairs) =>
  list(
    ATTRIBUTES,
    Object.entries(pairs)
      .filter(([, value]) => value)
      .map(([name, value]) => [text(name), int(CHAR), text(value)]),
  );

const numbers = (column) => {
  const bytes = new Uint8Array(8 * column.length),
    view = new DataView(bytes.buffer);
  column.forEach((x, i) => view.setFloat64(8 * i, typeof x === "number" ? x : NaN));
  return bytes;
};
const words = (column, width) => {
  const bytes = new Uint8Array(width * column.length);
  column.forEach((x, i) => bytes.set(utf8.encode(String(x ?? "")), i * width));
  return bytes;
};

/** Letters of formulas in names that every reader of these files takes. */
const GREEK = {
  α: "alpha",
  β: "beta",
  γ: "gamma",
  δ: "delta",
  ε: "epsilon",
  λ: "lambda",
  τ: "tau",
  φ: "phi",
  ψ: "psi",
};

/** Names of variables: letters, digits and underscores, each one once. */
const named = (headers) =>
  headers.reduce((names, header) => {
    const plain =
      header
        .replace(/ \[.*/, "")
        .replace(/\p{Script=Greek}/gu, (letter) => GREEK[letter] || "_")
        .replace(/[^A-Za-z0-9]+/g, "_")
        .replace(/^_+|_+$/g, "") || "column";
    let name = plain;
    for (let k = 2; names.includes(name); k++) name = `${plain}_${k}`;
    return [...names, name];
  }, []);

/** The bytes of a file; rows: the header, then rows of numbers and words. A column with a word is one of words. */
export const netcdf = ([headers, ...rows], heading) => {
  const names = named(headers),
    sizes = [["row", rows.length]];
  const variables = headers.map((header, i) => {
    const column = rows.map((row) => row[i]),
      [, long, unit] = /^(.*?)(?: \[(.*)\])?$/s.exec(header);
    if (!column.some((x) => typeof x === "string"))
      return {
        name: names[i],
        places: [0],
        kind: DOUBLE,
        bytes: numbers(column),
        about: { long_name: long, units: unit || "1" },
      };
    const width = Math.max(1, ...column.map((x) => utf8.encode(String(x ?? "")).length));
    sizes.push([`letters_of_${names[i]}`, width]);
    return {
      name: names[i],
      places: [0, sizes.length - 1],
      kind: CHAR,
      bytes: words(column, width),
      about: { long_name: long, _Encoding: "utf-8" },
    };
  });
  const header = (begin) => {
    let place = begin;
    return [
      Uint8Array.from([67, 68, 70, 1]),
      int(0),
      list(
        DIMENSIONS,
        sizes.map(([name, size]) => [text(name), int(size)]),
      ),
      attributes({ title: heading }),
      list(
        VARIABLES,
        variables.map(({ name, places, kind, bytes, about }) => {
          const size = 4 * Math.ceil(bytes.length / 4),
            at = place;
          place += size;
          return [text(name), int(places.length), places.map(int), attributes(about), int(kind), int(size), int(at)];
        }),
      ),
    ].flat(Infinity);
  };
  const begin = header(0).reduce((sum, part) => sum + part.length, 0);
  return new Blob([...header(begin), ...variables.map(({ bytes }) => padded(bytes))]);
};
