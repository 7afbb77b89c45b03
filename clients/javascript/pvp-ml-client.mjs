// Asks a PvP-ML server for decisions: one file, no packages. Copy it into your project.
//
//   import { PvpMlClient } from "./pvp-ml-client.mjs";
//   const client = await PvpMlClient.connect("tcp://127.0.0.1:9999");            // Node
//   const client = await PvpMlClient.connect("ws://127.0.0.1:9998/v1/stream");   // browser, or Node 22+
//   const { action } = await client.predict({ model: "nh-core", obs: [[…]], actionMasks: [[…], …] });
//   client.close();
//
// Questions may be asked before earlier ones are answered. Options: { token, timeoutMs = 5000 }. A connection that the
// server closed while nothing was asked is opened again by the next question.
// From a shell: node pvp-ml-client.mjs tcp://127.0.0.1:9999 MODEL 0.5,1,0 110,11 [TOKEN]

/** The server said no; `code` is stable, see docs/protocols.md. */
export class ServerError extends Error {
  constructor(code, message) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

export class PvpMlClient {
  #send;
  #end;
  #waiting = new Map();
  #nextId = 1;
  #options;
  #url;
  #isOpen = false;
  #opening = null;

  constructor(url, options) {
    this.#url = url;
    this.#options = { token: "", timeoutMs: 5000, ...options };
  }

  static async connect(url, options = {}) {
    const client = new PvpMlClient(url, options);
    await client.#open();
    return client;
  }

  async #open() {
    const { protocol, hostname, port } = new URL(this.#url);
    if (protocol === "tcp:") {
      await this.#openTcp(hostname, Number(port || 9999));
    } else {
      await this.#openWebSocket(this.#url);
    }
    this.#isOpen = true;
  }

  /** One decision. `request`: obs [frame][feature], actionMasks [head][choice], model, deterministic, returnProbs, … */
  async predict(request) {
    if (!this.#isOpen) {
      this.#opening ??= this.#open().finally(() => (this.#opening = null));
      await this.#opening;
    }
    const id = this.#nextId++;
    const { token, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(id, null, new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      this.#waiting.set(id, { resolve, reject, timer });
      try {
        this.#send(JSON.stringify({ ...request, id, ...(token ? { token } : {}) }));
      } catch (error) {
        this.#settle(id, null, error);
      }
    });
  }

  close() {
    this.#lost(new Error("closed"));
    this.#end();
  }

  async #openTcp(host, port) {
    const { connect } = await import("node:net");
    const socket = connect({ host, port, noDelay: true });
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    let left = "";
    socket.setEncoding("utf8");
    socket.on("data", (text) => {
      const lines = (left + text).split("\n");
      left = lines.pop();
      lines.forEach((line) => this.#receive(line));
    });
    socket.on("error", (error) => this.#lost(error));
    socket.on("close", () => this.#lost(new Error("the server hung up")));
    this.#send = (text) => socket.write(text + "\n");
    this.#end = () => socket.end();
  }

  async #openWebSocket(url) {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error(`cannot reach ${url}`));
    });
    socket.onmessage = (event) => this.#receive(event.data);
    socket.onclose = () => this.#lost(new Error("the server hung up"));
    this.#send = (text) => socket.send(text);
    this.#end = () => socket.close();
  }

  #receive(text) {
    const { id, error, ...answer } = JSON.parse(text);
    this.#settle(id, answer, error && new ServerError(error.code, error.message));
  }

  #settle(id, answer, error) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    error ? waiting.reject(error) : waiting.resolve(answer);
  }

  #lost(error) {
    this.#isOpen = false;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null, error);
  }
}

const isMain = typeof process !== "undefined" && process.argv[1] && import.meta.url.endsWith(encodeURI(process.argv[1]));
if (isMain) {
  const [url, model, obs, masks, token] = process.argv.slice(2);
  const client = await PvpMlClient.connect(url, { token });
  const request = {
    model,
    obs: [obs.split(",").map(Number)],
    actionMasks: masks.split(",").map((head) => [...head].map((flag) => flag === "1")),
    deterministic: true,
  };
  try {
    const answers = await Promise.all([1, 2, 3].map(() => client.predict({ ...request, returnProbs: true })));
    console.log("action", JSON.stringify(answers[0].action));
    console.log("same", answers.every((a) => String(a.action) === String(answers[0].action)));
  } catch (error) {
    console.log("error", error.code ?? error.message);
  }
  client.close();
}
