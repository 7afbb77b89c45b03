// The page: fetch what the arena is, open the socket, and keep everything that is shown in step with the match.

import { $, el, toast } from "./dom.js";
import { showHelp } from "./help.js";
import { Legality, Wishes } from "./legality.js";
import { Lobby } from "./lobby.js";
import { MatchLog } from "./match.js";
import { MindPanel } from "./mind.js";
import { ask, Link } from "./net.js";
import { PlainView } from "./plain.js";
import { Shelf } from "./shelf.js";
import { Timeline } from "./timeline.js";

class App {
  constructor(arena, View) {
    this.arena = arena;
    this.log = new MatchLog();
    this.link = new Link();
    this.legality = new Legality(arena.heads);
    this.wishes = new Wishes(this.legality);
    this.view = new View(arena.game, this.log, this.wishes, (move) => this.press(move), arena.heads);
    this.mind = new MindPanel($("mind"), this.log, this.legality);
    this.timeline = new Timeline($("timeline"), this.log, this.view, {
      pause: () => this.pace({ paused: true }),
      resume: () => this.pace({ paused: false }),
      step: () => this.link.send({ type: "step" }),
      speed: (ms) => this.pace({ tick_ms: ms }),
    });
    this.lobby = new Lobby($("lobby"), arena, (message) => this.start(message));
    this.shelf = new Shelf($("shelf"), arena, this.log, (told, name) => this.showReplay(told, name));
    this.isDirty = true;
    this.again = null;
    this.watching = 0;
    this.#listen();
    requestAnimationFrame((now) => this.#paint(now));
  }

  begin() {
    this.link.open();
    const room = new URLSearchParams(location.hash.slice(1)).get("watch");
    const own = sessionStorage.getItem("own");
    if (room) this.link.send({ type: "watch", room });
    else if (own) this.link.send({ type: "watch", ...JSON.parse(own) });
    else this.lobby.open();
  }

  start(message) {
    this.again = message;
    this.link.send({ ...message, tick_ms: this.log.facts.tick_ms || 600, paused: false });
  }

  pace(change) {
    const { tick_ms, paused } = { ...this.log.facts, ...change };
    this.link.send({ type: "pace", tick_ms: tick_ms || 600, paused: Boolean(paused) });
  }

  // A click or a key: part of this step's action, sent at once; it may be changed until the step is played.
  press(move) {
    const { log, wishes } = this;
    if (!log.isPlaying || log.at !== log.frames.length - 1 || log.newest.legal === null) return;
    if (log.facts.waits && wishes.picks.length) return; // where the match waits for you, a move is made at once
    if (!wishes.press(log.newest.legal, move)) {
      this.#say(`${move.label} is not possible now`);
      return;
    }
    this.#order();
    this.isDirty = true;
  }

  showReplay(told, name) {
    this.link.send({ type: "leave" });
    sessionStorage.removeItem("own");
    this.log.load({ names: told.names, game: told.game, human: null, driving: true, tick_ms: 600, scenario: told.scenario }, told.frames);
    $("banner").hidden = true;
    this.#say(`Replay ${name}`);
  }

  #listen() {
    const { log, link } = this;
    for (const name of ["reset", "frame", "seek", "show", "facts", "end"]) log.addEventListener(name, () => { this.isDirty = true; });
    link.addEventListener("message", ({ detail }) => this.#hear(detail));
    link.addEventListener("open", () => {
      if (log.isLive) this.link.send({ type: "watch", room: log.facts.room, key: log.facts.key ?? "" });
    });
    link.addEventListener("lost", ({ detail }) => this.#say(detail || "Connection lost; trying again"));
    $("new").onclick = () => this.lobby.open();
    $("replays").onclick = () => this.shelf.open();
    $("share").onclick = () => this.#share();
    $("keys").onclick = () => showHelp($("help"), this.view.moves);
    $("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "light" ? "dark" : "light");
    addEventListener("keydown", (event) => this.#key(event));
  }

  #hear(message) {
    const { log } = this;
    const { type } = message;
    if (type === "room") {
      log.reset({ ...message });
      this.wishes.clear();
      $("banner").hidden = true;
      $("share").disabled = false;
      if (message.key) sessionStorage.setItem("own", JSON.stringify({ room: message.room, key: message.key }));
      this.#say(message.driving ? (message.human === null ? "You watch" : "You fight") : "You look on");
      $("lobby").close();
    } else if (type === "frame") {
      log.add(message);
      this.wishes.clear();
    } else if (type === "pace") log.change({ tick_ms: message.tick_ms, paused: message.paused });
    else if (type === "audience") {
      this.watching = message.watching;
      this.#say();
    } else if (type === "refused") this.#refuse(message.message);
    else if (type === "late") this.#say(`Too late: ${message.message}`);
    else if (type === "end") this.#finish(message);
    else if (type === "closed") {
      this.#say(`Ended: ${message.reason}`);
      log.change({ room: null });
    }
    this.isDirty = true;
  }

  #refuse(words) {
    toast(words, "error");
    if (words.startsWith("there is no match")) {
      sessionStorage.removeItem("own");
      history.replaceState(null, "", location.pathname);
      if (!this.log.frames.length) this.lobby.open();
    }
  }

  #finish(message) {
    this.log.end(message);
    sessionStorage.removeItem("own");
    const { human, names } = this.log.facts;
    const winner = message.result.indexOf(1);
    const words = winner < 0 ? "Nobody wins" : human === null || human === undefined ? `${names[winner]} wins` : winner === human ? "You win" : "You lose";
    const kept = message.demonstration ? `${message.decisions} decisions of yours are kept in ${message.demonstration} (pvp-ml bc train)` : message.trouble ?? "";
    const tone = human === null || human === undefined || winner < 0 ? "" : winner === human ? "won" : "lost";
    $("banner").className = tone;
    $("banner").replaceChildren(el("strong", {}, words), el("span", { class: "quiet" }, kept), el("menu", {},
      el("button", { type: "button", id: "again", class: "primary", onclick: () => (this.again ? this.start(this.again) : this.lobby.open()) }, "Again"),
      el("button", { type: "button", id: "rewatch", onclick: () => { $("banner").hidden = true; this.timeline.scrub(0); this.timeline.roll(); } }, "Watch it again"),
      el("button", { type: "button", id: "keep", onclick: () => this.shelf.save() }, "Save replay")));
    $("banner").hidden = false;
    if (this.log.facts.driving) $("again").focus();
  }

  async #share() {
    const { room, watch } = this.log.facts;
    if (!room) return toast("only a match that is being played can be watched by others; replays are shared as files");
    const address = `${location.origin}/#watch=${room}${watch ? `&token=${encodeURIComponent(watch)}` : ""}`;
    try {
      await navigator.clipboard.writeText(address);
      toast(`Copied: ${address}`);
    } catch {
      toast(address);
    }
  }

  #say(words) {
    if (words !== undefined) this.words = words;
    const crowd = this.watching ? ` · ${this.watching} looking on` : "";
    const text = `${this.words ?? ""}${crowd}`;
    if ($("status").textContent !== text) $("status").textContent = text;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const { key, target } = event;
    const isTyping = target instanceof HTMLElement && target.matches("input:not([type=range]), select, textarea");
    if (isTyping) return;
    const section = this.view.sections?.find(([name]) => name === key);
    const acts = {
      " ": () => !target.matches?.("button") && (this.timeline.toggle(), true),
      ArrowLeft: () => (this.timeline.stepBy(-1), true),
      ArrowRight: () => (this.timeline.stepBy(1), true),
      Home: () => (this.timeline.scrub(0), true),
      End: () => (this.timeline.follow(), true),
      Escape: () => (this.#clear(), true),
      "?": () => (showHelp($("help"), this.view.moves), true),
    };
    const move = this.view.moves.find((one) => one.key === key.toLowerCase());
    if (section) $(section[1])?.querySelector("button, [tabindex]")?.focus();
    else if (move && this.log.isPlaying) this.press(move);
    else if (!acts[key]?.()) return;
    event.preventDefault();
  }

  #clear() {
    const { log, wishes } = this;
    if (!log.isPlaying || !wishes.picks.length || log.newest.legal === null) return;
    wishes.clear();
    if (!log.facts.waits) this.#order();
    this.isDirty = true;
  }

  // What was clicked, and what simply goes on (a prayer that is on).
  #order() {
    const { log, wishes } = this;
    const { legal, step } = log.newest;
    const more = wishes.picks.length ? (this.view.standing?.(log.newest) ?? []) : [];
    const picks = new Map(wishes.picks);
    for (const [head, choice] of more) {
      if (!picks.has(head) && this.legality.allows(legal, new Map([...picks, [head, choice]]))) picks.set(head, choice);
    }
    this.link.send({ type: "order", step, picks: [...picks] });
  }

  #paint(now) {
    if (this.isDirty) {
      this.isDirty = false;
      this.view.render();
      this.mind.render();
      this.timeline.render();
    }
    this.view.draw(now);
    this.timeline.draw(now);
    requestAnimationFrame((next) => this.#paint(next));
  }
}

// The game's own view where it brings one; a view that does not load is told and replaced by the plain one.
async function viewOf({ view }) {
  if (view === null) return PlainView;
  try {
    const { default: View } = await import(view.module);
    await Promise.all(view.styles.map(addStyles));
    if (typeof View !== "function") throw new Error("its default export is no class");
    return View;
  } catch (error) {
    toast(`The game's own view does not load: ${error.message}`, "error");
    return PlainView;
  }
}

// Resolves when the sheet is in place, or when it cannot be had: a match without colours is better than none.
function addStyles(href) {
  return new Promise((done) => document.head.append(el("link", { rel: "stylesheet", href, onload: done, onerror: done })));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
}

setTheme(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));

try {
  const arena = await (await ask("/api/arena")).json();
  document.title = `${arena.title} — PvP-ML arena`;
  $("title").textContent = arena.title;
  const View = await viewOf(arena);
  document.body.dataset.panel = View.hasPanel === false ? "none" : "shown";
  const app = new App(arena, View);
  app.begin();
} catch (error) {
  $("status").textContent = `The arena cannot be opened: ${error.message}`;
}
