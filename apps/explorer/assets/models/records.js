// @ts-check
// Recorded links and a link: which is nearest, and by how much its values differ.
import { brief, listed, percent } from "../core/numbers.js";

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

/** In what a record is of another link. */
const different = (point, values) => Object.keys(FIELDS).filter((k) => point[k] !== values[k]);

/** The records of the link itself, which may have other numbers of users. */
export const ofLink = (points, values, fits) =>
  points.filter((p) => p.queue === values.queue && fits(p) && different(p, { ...values, users: p.users }).length === 0);

/** Where a record of another link was made: at 100 users; nothing for the link itself. */
export const where = (point, values) => {
  const own = different(point, values).map((k) => `${brief(point[k])} ${FIELDS[k]}`);
  return own.length ? ` at ${listed(own)}` : "";
};

/** A sentence of what a record is of. */
export const described = (point, values) => {
  const at = where(point, values);
  if (!at) return "Recorded on this link.";
  const off = different(point, values).map((k) => `${NAMES[k]} ${percent(factor(point[k], values[k]) - 1)}`);
  return `Nearest record${at}. It differs by ${off.join(", ")}.`;
};
