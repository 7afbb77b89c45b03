// The server: plain requests, and a socket that comes back by itself.

// The address that the terminal printed carries keys behind the #. They stay with this tab, not in the address.
const given = new URLSearchParams(location.hash.slice(1));
for (const name of ["token", "control"]) if (given.get(name)) sessionStorage.setItem(name, given.get(name));
const token = given.get("token") ?? sessionStorage.getItem("token") ?? "";
export const control = sessionStorage.getItem("control") ?? "";
if (given.has("control")) {
  given.delete("control");
  const rest = given.toString();
  history.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
}

export async function ask(path, options = {}) {
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  if (!answer.ok) {
    const text = await answer.text();
    let message = text;
    try { message = JSON.parse(text).error; } catch { /* plain words are fine too */ }
    throw new Error(message.trim() || `the server answered ${answer.status}`);
  }
  return answer;
}

export const askJson = async (path, options) => (await ask(path, options)).json();

// What changes something: needs the key of the printed address.
export async function order(path) {
  return askJson(path, { method: "POST", headers: { "X-Pvp-Ml-Control": control } });
}

export class Link extends EventTarget {
  #socket = null;
  #tries = 0;
  #waiting = [];

  constructor(game) {
    super();
    this.game = game;
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const query = token ? `?token=${encodeURIComponent(token)}` : "";
    const socket = new WebSocket(`${scheme}://${location.host}/ws/${encodeURIComponent(this.game)}${query}`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#tries = 0;
      this.#tell("open");
      for (const message of this.#waiting.splice(0)) socket.send(message);
    };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      this.dispatchEvent(new CustomEvent("message", { detail: message }));
    };
    socket.onclose = (event) => {
      this.#tries += 1;
      this.#tell("lost", event.reason);
      setTimeout(() => this.open(), Math.min(250 * 2 ** this.#tries, 5000));
    };
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  send(message) {
    const text = JSON.stringify(message);
    if (this.isOpen) this.#socket.send(text);
    else if (message.type === "start" || message.type === "watch") this.#waiting = [text];
  }

  #tell(name, detail = "") {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
