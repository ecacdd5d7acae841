// The browser's part of background jobs: explorer.jobs.start(kind, words, tell) asks for one and tells its state
// ({ state: "waiting" | "running" | "done" | "refused" | "failed" | "ended", share, said, parts }) until it ends.
"use strict";
explorer.jobs = (() => {
  const live = new Set();
  // Browsers slow down the timers of a hidden tab, but not those of a worker: a hidden tab's job goes on.
  let clock = null;
  const tick = () => live.forEach((job) => job.ask());
  const wind = () => {
    if (clock) return;
    clock = new Worker(URL.createObjectURL(new Blob(["setInterval(() => postMessage(0), 400)"], { type: "text/javascript" })));
    clock.onmessage = tick;
  };
  const ENDED = ["done", "refused", "failed", "ended"];

  class Job {
    constructor(tell) { this.tell = tell; this.name = ""; this.asking = false; this.cancelled = false; }

    finish(status) {
      live.delete(this);
      if (!live.size && clock) { clock.terminate(); clock = null; }
      this.tell(status, this);
    }

    async start(kind, words) {
      try {
        const answer = await fetch("/jobs", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ kind, words }) });
        if (!answer.ok) { this.tell({ state: "refused", share: 0, said: await answer.text(), parts: [] }, this); return; }
        this.name = (await answer.json()).job;
      } catch { this.tell({ state: "failed", share: 0, said: "the explorer does not answer; start it again", parts: [] }, this); return; }
      live.add(this);
      wind();
      if (this.cancelled) this.cancel(); else this.ask();
    }

    async ask() {
      if (this.asking) return;
      this.asking = true;
      try {
        const answer = await fetch(`/jobs/${this.name}`);
        const status = answer.ok ? await answer.json() : { state: "failed", share: 0, said: await answer.text(), parts: [] };
        if (live.has(this)) { if (ENDED.includes(status.state)) this.finish(status); else this.tell(status, this); }
      } catch { if (live.has(this)) this.finish({ state: "failed", share: 0, said: "the explorer does not answer; start it again", parts: [] }); }
      this.asking = false;
    }

    /** End it; told at once. */
    cancel() {
      this.cancelled = true;
      if (!this.name) return;
      fetch(`/jobs/${this.name}/end`, { method: "POST" }).catch(() => {});
      if (live.has(this)) this.finish({ state: "ended", share: 0, said: "cancelled", parts: [] });
    }

    /** The address of what came out. */
    address(part) { return `/jobs/${this.name}/${part}`; }
  }

  addEventListener("pagehide", () => live.forEach((job) => navigator.sendBeacon(`/jobs/${job.name}/end`)));
  return { start(kind, words, tell) { const job = new Job(tell); job.start(kind, words); return job; } };
})();
