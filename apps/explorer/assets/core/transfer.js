// @ts-check
// One transfer over one link: slow start, cumulative acknowledgements, fast retransmit, retransmission timer, LEAP.
// It does what the library's packet simulator does with `sender = "reno"` and `rules = "rfc"`; a test compares them.

const MOST = 60,
  MOST_BACKOFF = 64,
  FORGETS = 8,
  DUPLICATES = 3,
  EVENTS = 4000;

/**
 * @typedef {{ time: number, segment: number, transmission: number, kind: string, arrives: number | null,
 *   fresh: boolean, lost?: boolean }} Send
 * @typedef {{ time: number, number: number, asks: number, arrives: number | null, lost?: boolean }} Ack
 */

/**
 * @param {object} settings
 * @param {number} settings.segments to send
 * @param {number} settings.window the first congestion window
 * @param {number} settings.advertised the largest window
 * @param {number} settings.rto the least timeout, and the one before a round trip is measured [s]
 * @param {number} settings.delay one way [s]
 * @param {number} settings.dataTime transmission time of a segment [s]
 * @param {number} settings.ackTime transmission time of an acknowledgement [s]
 * @param {boolean} settings.leap
 * @param {(segment: number, transmission: number) => boolean} settings.losesData
 * @param {(number: number) => boolean} settings.losesAck
 * @param {number} settings.end [s]
 * @returns {{ sends: Send[], acks: Ack[], timeouts: number[], done: number | null, duplicates: number }}
 */
export const transfer = ({
  segments,
  window,
  advertised,
  rto,
  delay,
  dataTime,
  ackTime,
  leap,
  losesData,
  losesAck,
  end,
}) => {
  const sends = /** @type {Send[]} */ ([]),
    acks = /** @type {Ack[]} */ ([]),
    timeouts = /** @type {number[]} */ ([]);
  const due = /** @type {{ at: number, order: number, run: () => void }[]} */ ([]);
  const copies = new Array(segments).fill(0),
    received = new Array(segments).fill(false);
  let now = 0,
    order = 0,
    forward = 0,
    back = 0,
    next = 0,
    una = 0,
    top = 0,
    cwnd = window,
    ssthresh = advertised,
    dupacks = 0,
    inflation = 0,
    limitedSent = 0,
    recovery = false,
    recover = -2,
    answered = 0,
    afterTimeout = false,
    backoff = 1,
    smooth = 0,
    varies = 0,
    base = rto,
    timed = -1,
    timedAt = 0,
    deadline = Infinity,
    rcvNext = 0,
    done = /** @type {number | null} */ (null),
    duplicates = 0;
  let leaping = false,
    leapFlag = false,
    leapDue = false,
    leapSegment = -1;

  const later = (at, run) => due.push({ at, order: order++, run });

  // ---- the link and the receiver ----------------------------------------------------------------------------
  const put = (segment, kind) => {
    copies[segment] += 1;
    const one = { time: now, segment, transmission: copies[segment], kind, arrives: null, fresh: false };
    sends.push(one);
    if (losesData(segment, one.transmission)) return;
    forward = Math.max(now, forward) + dataTime;
    later(forward + delay, () => arrived(one));
  };
  const arrived = (one) => {
    one.arrives = now;
    one.fresh = !received[one.segment];
    if (!one.fresh) duplicates += 1;
    received[one.segment] = true;
    while (rcvNext < segments && received[rcvNext]) rcvNext += 1;
    const reply = { time: now, number: acks.length, asks: rcvNext, arrives: /** @type {number | null} */ (null) };
    acks.push(reply);
    if (losesAck(reply.number)) return;
    back = Math.max(now, back) + ackTime;
    later(back + delay, () => {
      reply.arrives = now;
      acknowledged(reply.asks);
    });
  };

  // ---- the sender -------------------------------------------------------------------------------------------
  const timeout = () => Math.min(Math.max(base, rto) * backoff, MOST);
  const setTimer = () => {
    deadline = now + timeout();
    const mine = deadline;
    later(mine, () => {
      if (deadline === mine) expired();
    });
  };
  const restartTimer = () => {
    deadline = Infinity;
    if (una < top && una < segments) setTimer();
  };
  const transmit = (segment, kind) => {
    put(segment, segment >= top ? "new" : kind);
    if (segment >= top) {
      top = segment + 1;
      if (timed < 0) [timed, timedAt] = [segment, now];
    } else timed = -1; // Karn: its acknowledgement could be of either transmission
    if (deadline === Infinity) setTimer();
  };
  const usable = () => Math.min(Math.floor(cwnd) + inflation, advertised);
  const sendWindow = (most, first) => {
    let kind = first;
    for (; next < una + most && next < segments; next += 1) {
      transmit(next, kind);
      kind = "repeat";
    }
  };
  const halve = (flight) => Math.max(Math.floor(flight / 2), 2);

  const grow = () => {
    cwnd = Math.min(cwnd + (cwnd < ssthresh ? 1 : 1 / cwnd), advertised);
  };
  const measure = (rtt) => {
    if (smooth > 0) {
      varies += 0.25 * (Math.abs(rtt - smooth) - varies);
      smooth += 0.125 * (rtt - smooth);
    } else [smooth, varies] = [rtt, 0.5 * rtt];
    base = smooth + 4 * varies;
  };
  /** Send what the window allows, but the leap segment; or that one, where it is due. */
  const sendPast = (first) => {
    if (leapFlag && !leapDue) return;
    let kind = first;
    while (leapDue || findNext()) {
      if (leapDue) {
        if (sendLeap()) return;
        continue;
      }
      transmit(next, kind);
      next += 1;
      kind = "repeat";
    }
  };
  const findNext = () => {
    let most = usable();
    if (una < leapSegment && leapSegment < una + most) most = Math.min(most + 1, advertised);
    for (; next < una + most && next < segments; next += 1) if (next !== leapSegment) return true;
    return false;
  };
  const sendLeap = () => {
    leapDue = false;
    if (leapSegment < top) {
      put(leapSegment, "timeout");
      return true;
    }
    if (leapSegment >= segments) {
      leapFlag = leaping = false;
      return false;
    }
    put(leapSegment, "leap");
    top = leapSegment + 1;
    [timed, timedAt] = [leapSegment, now];
    recover = leapSegment;
    return true;
  };
  const send = (most, kind) => (leaping ? sendPast(kind) : sendWindow(most, kind));

  const expired = () => {
    deadline = Infinity;
    timeouts.push(now);
    const before = dupacks,
      again = backoff > 1 && afterTimeout;
    if (!again && una >= answered) ssthresh = halve(top - una);
    cwnd = 1;
    if (backoff < MOST_BACKOFF) backoff *= 2;
    if (backoff > FORGETS) smooth = 0;
    recovery = false;
    dupacks = inflation = limitedSent = 0;
    recover = top - 1;
    afterTimeout = true;
    timed = -1;
    next = una;
    setTimer();
    if (leap) {
      if (leapFlag) leapDue = true;
      else if (before === 0 && una < top && top < Math.min(segments, una + advertised)) {
        leaping = leapFlag = leapDue = true;
        leapSegment = top;
      }
    }
    send(usable(), "timeout");
  };

  /** Of an acknowledgement while a leap segment is not passed: whether it was a duplicate, which opens the window. */
  const answersLeap = (ack) => {
    if (ack < una) return false;
    if (leapFlag) {
      leapFlag = false;
      if (leapDue) {
        leapDue = false;
        if (leapSegment >= top) {
          leaping = false;
          return false;
        }
      }
    }
    if (ack > una) {
      if (ack >= leapSegment) leaping = false;
      return false;
    }
    dupacks += 1;
    if (cwnd < ssthresh) grow();
    sendPast("repeat"); // what goes out for the first time is new, whatever this says
    return true;
  };
  const acknowledged = (ack) => {
    if (leaping && answersLeap(ack)) return;
    if (ack > una) {
      advance(ack);
      return;
    }
    if (ack < una || una === top || afterTimeout) return;
    dupacks += 1;
    if (recovery) {
      inflation += 1;
      send(usable(), "repeat");
    } else if (dupacks === DUPLICATES) fastRetransmit();
    else if (dupacks < DUPLICATES && next === top) {
      const most = Math.min(Math.floor(cwnd) + dupacks, advertised); // limited transmit
      limitedSent += Math.max(0, Math.min(una + most, segments) - next);
      send(most, "new");
    }
  };
  const advance = (ack) => {
    if (timed >= 0 && ack > timed) {
      timed = -1;
      measure(now - timedAt);
      backoff = 1;
    }
    una = ack;
    next = Math.max(next, ack);
    afterTimeout = false;
    limitedSent = dupacks = 0;
    restartTimer();
    if (recovery) {
      recovery = false; // Reno's ends with the first new acknowledgement
      inflation = 0;
    } else grow();
    if (una >= segments && done === null) done = now;
    send(usable(), "repeat");
  };
  const fastRetransmit = () => {
    if (una - 1 <= recover) return;
    ssthresh = halve(top - una - limitedSent);
    cwnd = ssthresh;
    recover = top - 1;
    limitedSent = 0;
    deadline = Infinity;
    recovery = true;
    transmit(una, "fast");
    inflation = DUPLICATES;
    send(usable(), "repeat");
  };

  send(usable(), "new");
  for (let events = 0; due.length && events < EVENTS; events++) {
    let first = 0;
    for (let i = 1; i < due.length; i++) {
      if (due[i].at < due[first].at || (due[i].at === due[first].at && due[i].order < due[first].order)) first = i;
    }
    const [one] = due.splice(first, 1);
    if (one.at > end) break;
    now = one.at;
    one.run();
  }
  return { sends, acks, timeouts, done, duplicates };
};
