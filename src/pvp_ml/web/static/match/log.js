// The match as this page knows it: every frame so far, the one that is shown, and whether we follow the newest.

export class MatchLog extends EventTarget {
  constructor() {
    super();
    this.reset({});
  }

  reset(facts) {
    this.facts = facts; // names, human, driving, tick_ms, paused, waits, room
    this.frames = [];
    this.at = -1;
    this.isFollowing = true;
    this.shownAt = 0; // when the shown frame appeared, for animation
    this.moves = false; // whether the frame before was the one just before it
    this.isOver = false;
    this.ending = null;
    this.#tell("reset");
  }

  get frame() {
    return this.frames[this.at] ?? null;
  }

  get newest() {
    return this.frames.at(-1) ?? null;
  }

  get isLive() {
    return Boolean(this.facts.room) && !this.isOver;
  }

  get isPlaying() {
    return this.isLive && this.facts.driving && this.facts.human !== null && this.facts.human !== undefined;
  }

  add(frame) {
    this.frames[frame.step] = frame;
    if (frame.result) this.isOver = true;
    if (this.isFollowing) this.#show(this.frames.length - 1, true);
    this.#tell("frame");
  }

  load(facts, frames) {
    this.reset(facts);
    this.frames = frames;
    this.isOver = true;
    this.isFollowing = false;
    this.#show(0, false);
    this.#tell("frame");
  }

  // Look at another moment. Going forward by one is animated.
  seek(step) {
    const to = Math.max(0, Math.min(this.frames.length - 1, step));
    this.isFollowing = to === this.frames.length - 1 && this.isLive;
    this.#show(to, to === this.at + 1);
    this.#tell("seek");
  }

  follow() {
    this.isFollowing = true;
    this.#show(this.frames.length - 1, false);
    this.#tell("seek");
  }

  change(facts) {
    Object.assign(this.facts, facts);
    this.#tell("facts");
  }

  end(ending) {
    this.ending = ending;
    this.isOver = true;
    this.#tell("end");
  }

  #show(step, moves) {
    this.at = step;
    this.moves = moves;
    this.shownAt = performance.now();
    this.#tell("show");
  }

  #tell(name) {
    this.dispatchEvent(new Event(name));
  }
}
