// @ts-check
// The browser's part of background jobs: startJob(kind, words, tell) asks for one and tells its state
// ({ state: "waiting" | "running" | "done" | "refused" | "failed" | "ended", share, said, parts }) until it ends.
import { SILENT } from "./server.js";

const ENDED = ["done", "refused", "failed", "ended"];
const state = (word, said) => ({ state: word, share: 0, said, parts: [] });
const live = new Map();

// A worker requests the state of jobs: browsers slow down the timers of a hidden tab, and a page may be busy drawing.
// The time between two requests doubles, so that a short job ends in few of them.
let worker = null;
const source = `
  const names = new Set();
  const follow = async (name, wait) => {
    await new Promise((done) => setTimeout(done, wait));
    if (!names.has(name)) return;
    try {
      const answer = await fetch(${JSON.stringify(location.origin)} + "/jobs/" + name);
      postMessage([name, answer.ok ? await answer.json() : null, answer.ok ? "" : await answer.text()]);
    } catch { postMessage([name, null, ${JSON.stringify(SILENT)}]); }
    follow(name, Math.min(2 * wait, 1600));
  };
  onmessage = ({ data: [name, lives] }) => {
    if (!lives) names.delete(name);
    else { names.add(name); follow(name, 200); }
  };`;
const watch = (job) => {
  live.set(job.name, job);
  if (!worker) {
    worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    worker.onmessage = ({ data: [name, status, said] }) =>
      live.has(name) && live.get(name).hear(status || state("failed", said));
  }
  worker.postMessage([job.name, true]);
};
const forget = (job) => {
  live.delete(job.name);
  if (worker) worker.postMessage([job.name, false]);
  if (live.size || !worker) return;
  worker.terminate();
  worker = null;
};

class Job {
  constructor(tell) {
    this.tell = tell;
    this.name = "";
    this.cancelled = false;
  }

  async start(kind, words) {
    try {
      const answer = await fetch("/jobs", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ kind, words }),
      });
      const { job, refused } = answer.ok ? await answer.json() : { job: null, refused: await answer.text() };
      if (refused) {
        this.tell(state("refused", refused), this);
        return;
      }
      this.name = job;
    } catch {
      this.tell(state("failed", SILENT), this);
      return;
    }
    watch(this);
    if (this.cancelled) this.cancel();
  }

  hear(status) {
    if (ENDED.includes(status.state)) forget(this);
    Promise.resolve(this.tell(status, this)).catch((error) => this.tell(state("failed", error.message), this));
  }

  /** End it; told at once. */
  cancel() {
    this.cancelled = true;
    if (!live.has(this.name)) return;
    fetch(`/jobs/${this.name}/end`, { method: "POST" }).catch(() => {});
    this.hear(state("ended", "cancelled"));
  }

  /** The address of what came out. */
  address(part) {
    return `/jobs/${this.name}/${part}`;
  }
}

addEventListener("pagehide", () => live.forEach((job, name) => navigator.sendBeacon(`/jobs/${name}/end`)));

/** Ask for a job; `tell` follows its state. */
export const startJob = (kind, words, tell) => {
  const job = new Job(tell);
  job.start(kind, words);
  return job;
};
