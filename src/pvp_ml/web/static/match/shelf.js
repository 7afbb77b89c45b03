// Saved matches: choose one, open a file, save the one that is shown.

import { el, sidesOf, toast } from "../dom.js";
import { ask } from "../net.js";

export class Shelf {
  constructor(dialog, arena, log, show) {
    this.dialog = dialog;
    this.arena = arena;
    this.api = `/api/games/${encodeURIComponent(arena.game)}`;
    this.log = log;
    this.show = show; // called with {frames, names, …} and the file's name
    this.bytes = null; // of the replay that is shown
    this.list = el("ul", { class: "saved" });
    this.file = el("input", { type: "file", id: "replay-file", accept: ".replay,.jsonl", onchange: () => this.#openFile() });
    const models = arena.contestants.filter((c) => c.kind === "model");
    const usual = arena.seats.find((id) => id.startsWith("model:")) ?? models[0]?.id;
    this.analyst = el("select", { id: "analyst" }, el("option", { value: "" }, "nobody"), models.map((m) => el("option", { value: m.id, selected: m.id === usual }, m.name)));
    dialog.replaceChildren(el("form", { method: "dialog" },
      el("h2", { id: "shelf-title" }, "Replays"),
      el("p", { class: "quiet" }, "A replay is one small file with every action of a match. Anyone with the same version can open it."),
      el("label", { class: "row" }, el("span", {}, "Commentary by"), this.analyst),
      el("label", { class: "row" }, el("span", {}, "Open file"), this.file),
      el("h3", {}, "Saved on this machine"), this.list,
      el("menu", {}, el("button", { type: "button", id: "save-replay", onclick: () => this.save() }, "Save this match"), el("button", { type: "submit", class: "primary" }, "Close"))));
  }

  async open() {
    this.dialog.showModal();
    try {
      const saved = await (await ask(`${this.api}/replays`)).json();
      this.list.replaceChildren(...saved.map((replay) => el("li", {}, el("button", { type: "button", class: "link", title: replay.name, onclick: () => this.#openSaved(replay.name) }, sidesOf(replay.name)),
        el("time", {}, new Date(replay.saved * 1000).toLocaleString()))));
      if (!saved.length) this.list.replaceChildren(el("li", { class: "quiet" }, this.arena.keeps ? "None yet. Finish a match and it appears here." : "Matches are not saved (--no-keep)."));
    } catch (error) {
      toast(error.message, "error");
    }
  }

  async openNamed(name) {
    await this.#openSaved(name);
  }

  async #openSaved(name) {
    try {
      await this.#load(await (await ask(`${this.api}/replays/${encodeURIComponent(name)}`)).arrayBuffer(), name);
    } catch (error) {
      toast(error.message, "error");
    }
  }

  async #openFile() {
    const [file] = this.file.files;
    if (!file) return;
    try {
      await this.#load(await file.arrayBuffer(), file.name);
    } catch (error) {
      toast(error.message, "error");
    }
    this.file.value = "";
  }

  async #load(bytes, name) {
    const answer = await ask(`${this.api}/frames?analyst=${encodeURIComponent(this.analyst.value)}`, { method: "POST", body: bytes });
    const replay = await answer.json();
    this.bytes = bytes;
    this.dialog.close();
    this.show(replay, name);
  }

  async save() {
    try {
      const { room } = this.log.facts;
      const bytes = room ? await (await ask(`${this.api}/matches/${encodeURIComponent(room)}/replay`)).arrayBuffer() : this.bytes;
      if (!bytes) throw new Error("There is no match to save yet.");
      const link = el("a", { href: URL.createObjectURL(new Blob([bytes])), download: `${this.arena.game}-match.replay` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } catch (error) {
      toast(error.message, "error");
    }
  }
}
