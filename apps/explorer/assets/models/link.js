// @ts-check
// Users who share a link, by the exact sub-packet chain at the loss at which each delivers its share; as in
// apps/explorer/numbers_my_link.py.
import { flow, nothing, sums } from "./flow.js";

/** What the chain computes with: see numbers_my_link.py.
 *  @typedef {{ window: number, least_timeout: number, most_at_top: number }} Constants */
/**
 * @typedef {{ rate: number, base_rtt: number, buffer: number, packet_size: number }} Link in Mbit/s, ms, packets,
 * bytes
 */

const LOW = 1e-12; // least loss that is looked at

/** A round trip with a full buffer [s]. @param {Link} link */
export const fullRtt = ({ rate, base_rtt, buffer, packet_size }) =>
  base_rtt / 1e3 + (buffer * 8 * packet_size) / (1e6 * rate);

/** Packets in the pipe and the buffer for each of so many users. @param {Link} link @param {number} users */
export const share = ({ rate, base_rtt, buffer, packet_size }, users) =>
  (((1e6 * rate) / (8 * packet_size)) * (base_rtt / 1e3) + buffer) / users;

/**
 * Loss, silence, fairness and users with nothing in the window, for each of the numbers of users.
 * @param {any} chain of `event_program`
 * @param {Link} link
 * @param {Constants} constants
 */
export const usersOf = (chain, link, constants) => {
  const rtt = fullRtt(link),
    timer = Math.max(2, Math.floor(1.5 + constants.least_timeout / rtt)),
    epochs = Math.max(1, Math.floor(0.5 + constants.window / rtt));
  const { at, root } = flow(chain, 1, LOW, timer);
  /** At so many users; `fair`: with Jain's index, too. @param {number} n @param {boolean} [fair] */
  const solved = (n, fair = false) => {
    const each = share(link, n),
      loss = at(LOW)[0] <= each ? 0 : root(each),
      out = at(Math.max(loss, 1e-9)),
      top = out[2 + chain.states - 1];
    const covered = loss > 0 && top <= constants.most_at_top;
    const silent = chain.waits.reduce((sum, [b]) => sum + out[2 + b], 0);
    const jain = covered && fair ? sums(chain, out, timer, epochs, epochs).jain[epochs] : NaN;
    return { each, loss, top, covered, silent, jain, out, nothing: covered ? nothing(chain, out, timer, epochs) : NaN };
  };
  return { rtt, timer, epochs, solved };
};

/**
 * The recorded number of users, or else its neighbours; at an end there is one.
 * @param {number[]} recorded in order @param {number} n
 */
export const neighboursOf = (recorded, n) =>
  [...new Set([recorded.findLast((one) => one <= n), recorded.find((one) => one >= n)])].filter(
    (one) => one !== undefined,
  );

/**
 * A fraction as people write it, small ones too: 16 %, 2.4 %, 0.06 %, below 0.001 %; with `more` digits.
 * @param {number} x
 */
export const percent = (x, more = 0) => {
  const y = 100 * Math.max(0, x);
  if (y === 0) return "0 %";
  if (y < 0.001) return "below 0.001 %";
  return `${y >= 9.95 ? y.toFixed(more) : y >= 0.1 ? y.toPrecision(2 + more) : Number(y.toPrecision(1 + more))} %`;
};
