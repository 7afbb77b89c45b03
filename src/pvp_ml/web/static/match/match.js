// The page: fetch what the arena is, open the socket, and keep everything that is shown in step with the match.

import { $, el, toast } from "../dom.js";
import { showHelp } from "./help.js";
import { Legality, Wishes } from "../legality.js";
import { beat, nextRung } from "./ladder.js";
import { Lobby } from "./lobby.js";
import { MatchLog } from "./log.js";
import { MindPanel } from "./mind.js";
import { askJson, Link } from "../net.js";
import { PlainView } from "./plain.js";
import { Shelf } from "./shelf.js";
import "../theme.js";
import { Timeline } from "./timeline.js";

const LAST_LOOK_MS = 1400; // how long the last step is seen before the result covers it

class App {
  constructor(arena, View) {
    this.arena = arena;
    this.log = new MatchLog();
    this.link = new Link(arena.game);
    this.legality = new Legality(arena.heads);
    this.wishes = new Wishes(this.legality);
    this.view = new View(arena.game, this.log, this.wishes, (move) => this.press(move), arena.heads);
    this.mind = new MindPanel($("mind"), this.log, this.legality, this.view);
    this.timeline = new Timeline($("timeline"), this.log, this.view, {
      pause: () => this.pace({ paused: true }),
      resume: () => this.pace({ paused: false }),
      step: () => this.link.send({ type: "step" }),
      speed: (ms) => this.pace({ tick_ms: ms }),
    }, arena.tick_ms);
    this.lobby = new Lobby($("lobby"), arena, (message) => this.start(message), View.lobby, (message) => this.ask(message));
    this.questions = []; // of the lobby; the server answers them in order
    this.shelf = new Shelf($("shelf"), arena, this.log, (replay, name) => this.showReplay(replay, name));
    this.isDirty = true;
    this.again = null;
    this.watching = 0;
    this.#listen();
    requestAnimationFrame((now) => this.#paint(now));
  }

  // Behind the # an address may say what to do: watch a room, start a match of these, meet somebody, open a replay.
  begin() {
    this.link.open();
    const wish = new URLSearchParams(location.hash.slice(1));
    const own = sessionStorage.getItem(this.#own);
    if (["start", "against", "replay"].some((name) => wish.has(name))) history.replaceState(null, "", location.pathname);
    if (wish.has("watch")) this.link.send({ type: "watch", room: wish.get("watch") });
    else if (wish.has("replay")) this.shelf.openNamed(wish.get("replay"));
    else if (wish.has("start")) this.lobby.startWith(wish.get("start").split(",").map(decodeURIComponent), wish.get("seed"));
    else if (own && !wish.has("against")) this.link.send({ type: "watch", ...JSON.parse(own) });
    else this.lobby.open(wish.get("against"));
  }

  get #own() {
    return `own ${this.arena.game}`;
  }

  // Players start at the game's own speed; spectators keep theirs.
  start(message) {
    this.again = message;
    const pace = message.seats.includes("you") ? this.arena.tick_ms : this.log.facts.tick_ms || this.arena.tick_ms;
    this.link.send({ ...message, tick_ms: pace, paused: false });
  }

  ask(message) {
    return new Promise((answer) => {
      this.questions.push(answer);
      this.link.send(message);
    });
  }

  pace(change) {
    const { tick_ms, paused } = { ...this.log.facts, ...change };
    this.link.send({ type: "pace", tick_ms: tick_ms || this.arena.tick_ms, paused: Boolean(paused) });
  }

  // A click or a key: part of this step's action, sent at once; it may be changed until the step is played.
  press(move) {
    const { log, wishes } = this;
    if (move.isHeld) return void (log.isPlaying && this.link.send({ type: "order", step: log.newest.step, picks: move.picks }));
    if (!log.isPlaying || !this.link.isOpen || log.at !== log.frames.length - 1 || log.newest.legal === null) return;
    if (log.facts.waits && wishes.picks.length) return; // where the match waits for you, a move is made at once
    if (!wishes.press(log.newest.legal, move)) {
      this.#say(this.view.why?.(move) || `${move.label} is not possible now`);
      return;
    }
    this.#order();
    this.isDirty = true;
  }

  showReplay(replay, name) {
    this.link.send({ type: "leave" });
    sessionStorage.removeItem(this.#own);
    this.log.load({ names: replay.names, game: replay.game, human: null, driving: true, tick_ms: this.arena.tick_ms, scenario: replay.scenario }, replay.frames);
    $("banner").hidden = true;
    this.#say(`Replay: ${name}`);
  }

  #listen() {
    const { log, link } = this;
    for (const name of ["reset", "frame", "seek", "show", "facts", "end"]) log.addEventListener(name, () => { this.isDirty = true; });
    link.addEventListener("message", ({ detail }) => this.#hear(detail));
    link.addEventListener("open", () => {
      this.#lost(null);
      if (log.isLive) this.link.send({ type: "watch", room: log.facts.room, key: log.facts.key ?? "" });
    });
    link.addEventListener("lost", ({ detail }) => this.#lost(detail));
    $("new").onclick = () => this.lobby.open();
    $("replays").onclick = () => this.shelf.open();
    $("share").onclick = () => this.#share();
    $("keys").onclick = () => showHelp($("help"), this.view);
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
      if (message.key) sessionStorage.setItem(this.#own, JSON.stringify({ room: message.room, key: message.key }));
      this.#say(message.driving ? (message.human === null ? "Watching" : "You're playing") : "You're spectating");
      $("lobby").close();
    } else if (type === "frame") {
      log.add(message);
      this.wishes.clear();
    } else if (type === "pace") log.change({ tick_ms: message.tick_ms, paused: message.paused });
    else if (type === "audience") {
      this.watching = message.watching;
      this.#say();
    } else if (type === "brought") this.questions.shift()?.(message);
    else if (type === "refused" && this.questions.length) this.questions.shift()({ ready: "", problems: [message.message] });
    else if (type === "refused") this.#refuse(message.message);
    else if (type === "late") this.#say(`Too late: ${message.message}`);
    else if (type === "end") this.#finish(message);
    else if (type === "closed") {
      this.#say(`Ended: ${message.reason}`);
      log.change({ room: null });
    }
    this.isDirty = true;
  }

  // Without its server a match stands still: say so, and take the colour out of the board.
  #lost(reason) {
    const isLost = reason !== null;
    document.body.classList.toggle("lost", isLost);
    $("lost").hidden = !isLost;
    $("lost").textContent = isLost ? `Lost the server${reason ? ` (${reason})` : ""}. Reconnecting…` : "";
    this.isDirty = true;
  }

  #refuse(words) {
    toast(words, "error");
    if (words.startsWith("there is no match")) {
      sessionStorage.removeItem(this.#own);
      history.replaceState(null, "", location.pathname);
      if (!this.log.frames.length) this.lobby.open();
    }
  }

  // The last step is seen first; then the result, and what the game has to tell of the match.
  #finish(message) {
    this.log.end(message);
    this.#say("The match is over");
    sessionStorage.removeItem(this.#own);
    const { room } = this.log.facts;
    const wait = Math.max(LAST_LOOK_MS, Math.min(2400, 2 * (this.log.facts.tick_ms || this.arena.tick_ms)));
    setTimeout(() => this.log.facts.room === room && this.#showResult(message), wait);
  }

  #showResult(message) {
    const { human, names, driving } = this.log.facts;
    const winner = message.result.indexOf(1);
    const isMine = human !== null && human !== undefined && driving;
    const words = winner < 0 ? "It's a draw" : !isMine ? `${names[winner]} wins` : winner === human ? "You win" : "You lose";
    const kept = message.demonstration ? `Your ${message.decisions} decisions were saved to ${message.demonstration}; clone them with pvp-ml bc train` : message.trouble ?? "";
    const won = isMine && winner === human ? beat(this.arena, this.again?.seats ?? []) : null;
    const higher = won && nextRung(this.arena).rung > won.rung ? nextRung(this.arena) : null;
    $("banner").className = !isMine || winner < 0 ? "" : winner === human ? "won" : "lost";
    const close = el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => { $("banner").hidden = true; } }, "×");
    $("banner").replaceChildren(close, el("strong", {}, words), summaryTable(this.view.summary?.() ?? null, names, (step) => { $("banner").hidden = true; this.timeline.scrub(step); }), kept ? el("span", { class: "quiet" }, kept) : "", el("menu", {},
      driving ? el("button", { type: "button", id: "again", class: "primary", onclick: () => (this.again ? this.start(this.again) : this.lobby.open()) }, isMine ? "Play again" : "Another match") : null,
      higher ? el("button", { type: "button", id: "climb", onclick: () => this.start({ ...this.again, seats: this.again.seats.map((id) => (id === won.id ? higher.id : id)), seed: null }) }, `Next rung: ${higher.name}`) : null,
      el("button", { type: "button", id: "rewatch", onclick: () => { $("banner").hidden = true; this.timeline.scrub(0); this.timeline.roll(); } }, "Watch again"),
      el("button", { type: "button", id: "keep", onclick: () => this.shelf.save() }, "Save replay")));
    $("banner").hidden = false;
    $("again")?.focus({ preventScroll: true });
  }

  async #share() {
    const { room, watch } = this.log.facts;
    if (!room) return toast("Only a live match can be shared as a link. Share a replay as a file.");
    const address = `${location.origin}${location.pathname}#watch=${room}${watch ? `&token=${encodeURIComponent(watch)}` : ""}`;
    try {
      await navigator.clipboard.writeText(address);
      toast(`Link copied: ${address}`);
    } catch {
      toast(address);
    }
  }

  #say(words) {
    if (words !== undefined) this.words = words;
    const crowd = this.watching ? ` · ${this.watching} watching` : "";
    const text = `${this.words ?? ""}${crowd}`;
    if ($("status").textContent !== text) $("status").textContent = text;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const { key, target } = event;
    const isTyping = target instanceof HTMLElement && target.matches("input:not([type=range]), select, textarea");
    if (isTyping) return;
    if (this.view.hears?.(event)) return event.preventDefault();
    const section = this.view.sections?.find(([name]) => name === key);
    const acts = {
      " ": () => !target.matches?.("button") && (this.timeline.toggle(), true),
      ArrowLeft: () => (this.timeline.stepBy(-1), true),
      ArrowRight: () => (this.timeline.stepBy(1), true),
      Home: () => (this.timeline.scrub(0), true),
      End: () => (this.timeline.follow(), true),
      Escape: () => (this.#clear(), true),
      "?": () => (showHelp($("help"), this.view), true),
    };
    const move = this.view.moves.find((one) => one.key === key.toLowerCase());
    if (section) $(section[1])?.querySelector("button, [tabindex]")?.focus();
    else if (move && this.log.isPlaying) (move.act ?? (() => this.press(move)))();
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

  // What was clicked, and what stays active (a prayer that is on).
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
    document.body.dataset.playing = String(this.log.isPlaying);
    this.view.draw(now);
    this.timeline.draw(now);
    requestAnimationFrame((next) => this.#paint(next));
  }
}

// What a view tells of a finished match: rows of [label, a value per seat], and the step at which it turned.
function summaryTable(facts, names, jump) {
  if (!facts) return "";
  const turn = facts.turn ? el("p", { class: "turn" }, el("button", { type: "button", id: "turning-point", onclick: () => jump(facts.turn.step) }, `Turning point: step ${facts.turn.step}`), el("span", { class: "quiet" }, facts.turn.text)) : "";
  return el("div", { class: "summary-of-match" }, el("table", { class: "rows" }, el("thead", {}, el("tr", {}, el("td", {}), names.map((name, seat) => el("th", { scope: "col", class: `seat${seat}` }, name)))),
    el("tbody", {}, facts.rows.map(([label, ...values]) => el("tr", {}, el("th", { scope: "row" }, label), values.map((value) => el("td", {}, value)))))), turn);
}

// The game's own view where it brings one; a view that does not load is reported and replaced by the plain one.
async function viewOf({ view }) {
  if (view === null) return PlainView;
  try {
    const { default: View } = await import(view.module);
    await Promise.all(view.styles.map(addStyles));
    if (typeof View !== "function") throw new Error("its default export is not a class");
    return View;
  } catch (error) {
    toast(`This game's view did not load: ${error.message}`, "error");
    return PlainView;
  }
}

// Resolves when the sheet is in place, or when it cannot be had: a match without colours is better than none.
function addStyles(href) {
  return new Promise((done) => document.head.append(el("link", { rel: "stylesheet", href, onload: done, onerror: done })));
}

try {
  const arena = await askJson(`/api/games/${location.pathname.split("/")[2]}`);
  document.title = `${arena.title} — PvP-ML`;
  $("title").textContent = arena.title;
  const View = await viewOf(arena);
  document.body.dataset.panel = View.hasPanel === false ? "none" : "shown";
  const app = new App(arena, View);
  $("status").textContent = "";
  app.begin();
} catch (error) {
  $("status").textContent = `Can't open this game: ${error.message}`;
}
