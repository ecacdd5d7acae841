// @ts-check
// Recorded links beside a link: which is nearest, and by how much its values differ.

/** What makes a link, and its unit. */
export const FIELDS = {
  rate: "Mbit/s",
  base_rtt: "ms",
  buffer: "packets of buffer",
  users: "users",
  packet_size: "bytes a packet",
};
const NAMES = { rate: "rate", base_rtt: "round trip", buffer: "buffer", users: "users", packet_size: "packet size" };
/** Beyond this factor a record says nothing of a link. */
export const NEAR = 1.25;

const factor = (a, b) => Math.max(a / b, b / a);

/** How far a record is from a link: the largest factor between values of both. */
export const apart = (point, values) => Math.max(...Object.keys(FIELDS).map((k) => factor(point[k], values[k])));

/** The nearest of the records that `fits`, or null where all are far. */
export const nearest = (points, values, fits) => {
  const own = points.filter((p) => p.queue === values.queue && fits(p));
  const best = own.reduce((a, b) => (a && apart(a, values) <= apart(b, values) ? a : b), null);
  return best && apart(best, values) <= NEAR ? best : null;
};

/** A sentence of what a record is of. */
export const described = (point, values) => {
  const different = Object.keys(FIELDS).filter((k) => factor(point[k], values[k]) > 1.005);
  if (!different.length) return "Recorded on this link.";
  const off = different.map((k) => `${NAMES[k]} ${Math.round(100 * (factor(point[k], values[k]) - 1))} %`);
  const where = different.map((k) => `${point[k]} ${FIELDS[k]}`);
  return `Nearest record: ${where.join(", ")}. It differs by ${off.join(", ")}.`;
};
