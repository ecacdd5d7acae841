// @ts-check
import { KINDS, page } from "../core/pages.js";
import { Strip } from "../core/strip.js";
import { transfer } from "../core/transfer.js";

KINDS.strip = Strip;

const SIZE = 8 * 576,
  ACK = 8 * 40,
  RATE = 500e3,
  DELAY = 0.05,
  ADVERTISED = 100,
  SEGMENTS = 9,
  ACKS = 18,
  END = 60;
const WAY = SIZE / RATE + DELAY;

/** The binary digit of `lost_data` or `lost_acks` that says whether a packet is dropped; -1 without. */
const placeOf = (kind, [first, transmission = 1]) => {
  if (kind === "ack") return first < ACKS ? first : -1;
  return first < SEGMENTS && transmission <= 2 ? SEGMENTS * (transmission - 1) + first : -1;
};
/** The last data packet that is to be dropped; 0 without. */
const lastOf = (bits) => {
  let last = 0;
  for (let place = 0; place < 2 * SEGMENTS; place++)
    if (has(bits, place)) last = Math.max(last, (place % SEGMENTS) + 1);
  return last;
};
const has = (bits, place) => place >= 0 && Math.floor(bits / 2 ** place) % 2 === 1;

/** What is dropped, in words. */
const dropped = ({ lost_data, lost_acks }) => {
  const places = (bits, n) => Array.from({ length: n }, (_, place) => place).filter((place) => has(bits, place)),
    again = (place) => (place < SEGMENTS ? "" : ", sent again"),
    data = places(lost_data, 2 * SEGMENTS).map((place) => `packet ${(place % SEGMENTS) + 1}${again(place)}`),
    acks = places(lost_acks, ACKS).map((place) => `ACK ${place + 1}`);
  return data.length + acks.length ? `Dropped: ${[...data, ...acks].join("; ")}. ` : "";
};
/** The link, in words. */
const LINK = `The link carries ${RATE / 1e3} kbit/s and has a delay of ${1e3 * DELAY} ms each way.`;

/** Both transfers at the same drops. */
const run = (values, leap) => {
  const losesData = (segment, transmission) => has(values.lost_data, placeOf("data", [segment, transmission])),
    losesAck = (number) => has(values.lost_acks, placeOf("ack", [number]));
  const one = transfer({
    segments: values.segments,
    window: values.window,
    advertised: ADVERTISED,
    rto: values.rto,
    delay: DELAY,
    dataTime: SIZE / RATE,
    ackTime: ACK / RATE,
    leap,
    losesData,
    losesAck,
    end: END,
  });
  one.sends.forEach((s) => (s.lost = losesData(s.segment, s.transmission)));
  one.acks.forEach((a) => (a.lost = losesAck(a.number)));
  return one;
};

page("strip", {
  draw(values, functions, figures, set, spec) {
    const both = [run(values, false), run(values, true)];
    const last = (one) => one.done ?? Math.max(...one.sends.map((s) => s.time)) + 2 * WAY;
    const end = 1.04 * Math.max(...both.map(last));
    const bits = { data: "lost_data", ack: "lost_acks" };
    const seconds = (x) => (x === null ? "never" : `${x.toFixed(2)} s`);
    figures.strip.show({
      segments: values.segments,
      end,
      way: WAY,
      panels: ["without LEAP", "with LEAP"]
        .map((name, i) => ({
          name,
          title: values.shown === "without-LEAP" ? "one transfer" : name,
          leaps: i === 1,
          ...both[i],
          note: `${both[i].duplicates} duplicate${both[i].duplicates === 1 ? "" : "s"}, ${seconds(both[i].done)}`,
        }))
        .filter(({ name }) => values.shown === "both" || values.shown === name.replace(" ", "-")),
      may: (kind, numbers) => placeOf(kind, numbers) >= 0,
      toggle: (kind, numbers) => {
        const name = bits[kind],
          place = placeOf(kind, numbers);
        set({ [name]: values[name] + (has(values[name], place) ? -1 : 1) * 2 ** place });
      },
    });
    const [plain, leap] = both,
      leaps = leap.sends.filter((s) => s.kind === "leap").length;
    const drops = values.lost_data + values.lost_acks > 0,
      told = ({ duplicates, done }) =>
        `${duplicates || "no"} duplicate${duplicates === 1 ? "" : "s"}, and the transfer takes ${seconds(done)}`;
    const beyond = lastOf(values.lost_data);
    const advice =
      beyond > values.segments
        ? `Packet ${beyond} is to be dropped, but the transfer has ${values.segments} packets; ` +
          `send ${beyond} or more, or press Reset.`
        : drops
          ? ""
          : `Click a packet or an ACK to drop it${values.shown === "both" ? " in both transfers" : ""}.`;
    const what = !drops
      ? "Nothing is dropped."
      : values.shown === "without-LEAP"
        ? `The receiver gets ${told(plain)}.`
        : values.shown === "with-LEAP"
          ? `With LEAP the receiver gets ${told(leap)}.`
          : leaps
            ? `Without LEAP the receiver gets ${told(plain)}; with LEAP, ${told(leap)}.`
            : `The receiver gets ${told(plain)}; LEAP has nothing to do.`;
    const numbers = {
      plain: plain.duplicates,
      leap: leap.duplicates,
      plain_time: plain.done ?? Infinity,
      leap_time: leap.done ?? Infinity,
      timeouts: plain.timeouts.length,
      sent: plain.sends.length,
      longest: Math.max(...plain.sends.map((s, i, all) => (i ? s.time - all[i - 1].time : 0))),
    };
    return { says: what, advice, about: { strip: `${what} ${dropped(values)}${LINK}` }, numbers };
  },
});
