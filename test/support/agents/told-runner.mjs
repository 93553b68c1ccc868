// A module whose runner does what its prompt tells it, step by step: `play [{"say":"hi"},{"exit":1}]`. Options: `close`:
// `deaf` never closes, `throws` fails at it; `steer`: `throws` fails at each correction; `load`: `throws`, `loops`, `exits`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync, writeSync } from "node:fs";
import { connect } from "node:net";

/** The turn that a later one emits in. */
let kept;

/** The pipe to the host, by its number. */
const toHost = 3;

async function play(step, turn, stopped) {
  const say = (text) => turn.emit({ type: "message.delta", payload: { text } });
  if ("say" in step) return say(step.say);
  if ("emit" in step) return turn.emit(step.emit);
  if ("word" in step) return say(turn.emit(step.word));
  if ("odd" in step) return oddFrames().forEach((frame) => say(`${turn.emit(frame)} `));
  if ("large" in step) return say(turn.emit({ type: "message.delta", payload: { text: "x".repeat(step.large) } }));
  if ("flood" in step) return flood(step, say);
  if ("raw" in step) return void writeSync(toHost, step.raw);
  if ("rawBytes" in step) return writeAll(Buffer.alloc(step.rawBytes, "x"));
  if ("pid" in step) return say(String(process.pid));
  if ("env" in step) return say(JSON.stringify(process.env));
  if ("cwd" in step) return say(process.cwd());
  if ("turn" in step) return say(JSON.stringify({ ...turn, frozen: Object.isFrozen(turn.coordinates) }));
  if ("stdout" in step) return void process.stdout.write(step.stdout);
  if ("stderr" in step) return void process.stderr.write(step.stderr);
  if ("exit" in step) return process.exit(step.exit);
  if ("signal" in step) return void process.kill(process.pid, step.signal);
  if ("throw" in step) throw new Error(step.throw);
  if ("uncaught" in step) return uncaught(step.uncaught);
  if ("reject" in step) return void Promise.reject(new Error(step.reject));
  if ("heap" in step) return heap();
  if ("loop" in step) for (;;);
  if ("hang" in step) return stopped;
  if ("reason" in step) return stopped.then(() => say(turn.signal.reason));
  if ("deaf" in step) return new Promise(() => undefined);
  if ("keep" in step) return void (kept = turn);
  if ("late" in step) return say(kept.emit({ type: "message.delta", payload: { text: "late" } }));
  if ("connect" in step) return once(connect(step.connect, "127.0.0.1"), "connect");
  if ("leave" in step) return leave(step.leave);
  if ("ask" in step) {
    const answered = await Promise.race([turn.ask(step.ask), stopped]);
    return answered && say(step.shows ? JSON.stringify(answered) : "on");
  }
  if ("askTimes" in step) {
    const asked = Array.from({ length: step.askTimes }, () => turn.ask({ method: "nobody", params: {} }));
    const words = (await Promise.all(asked)).map(({ reason }) => reason);
    return say([...new Set(words)].map((word) => `${word} ${words.filter((each) => each === word).length}`).join(", "));
  }
  throw new Error(`unknown step ${JSON.stringify(step)}`);
}

function oddFrames() {
  const throwing = {
    get type() {
      throw new Error("no");
    },
  };
  const cycle = {};
  cycle.self = cycle;
  return [undefined, null, 7, {}, { type: "" }, { type: 7 }, throwing, { type: "odd", payload: cycle }, { type: "x" }];
}

/** Counts the deltas that have left, a hundred at a time, in the file `progress`. */
function flood({ flood: count, progress }, say) {
  for (let at = 0; at < count; at++) {
    say(`${at % 10}`);
    if (progress !== undefined && (at + 1) % 100 === 0) writeFileSync(progress, String(at + 1));
  }
}

function writeAll(bytes) {
  for (let at = 0; at < bytes.length;) at += writeSync(toHost, bytes.subarray(at));
}

/** Thrown where nobody catches it; what comes next never does. */
function uncaught(text) {
  process.nextTick(() => {
    throw new Error(text);
  });
  return new Promise(() => undefined);
}

function heap() {
  const kept = [];
  for (;;) kept.push(Array.from({ length: 1_000 }, () => ({})));
}

/** Starts a process of its own, and a connection that tells of its end. */
async function leave(port) {
  const code = `require("node:net").connect(${port}, "127.0.0.1", () => process.send("up"))`;
  await once(spawn(process.execPath, ["-e", code], { stdio: ["ignore", "ignore", "ignore", "ipc"] }), "message");
}

export default async function toldRunner(options = {}) {
  if (options.load === "throws") throw new Error("no model is configured");
  if (options.load === "loops") for (;;);
  if (options.load === "exits") process.exit(3);
  const corrections = new WeakMap();
  return {
    kind: "told",
    async run(turn) {
      corrections.set(turn, (text) => turn.emit({ type: "message.delta", payload: { text } }));
      const stopped = new Promise((resolve) => turn.signal.addEventListener("abort", () => resolve(undefined)));
      const text = turn.unseen.at(-1).text;
      const steps = JSON.parse(text.slice(text.lastIndexOf("play [") + 5));
      for (const step of steps) {
        if ("end" in step) return step.end;
        if ("endLong" in step) return { status: "completed", text: "\u0001".repeat(step.endLong) };
        if ("options" in step) turn.emit({ type: "message.delta", payload: { text: JSON.stringify(options) } });
        else await play(step, turn, stopped);
        if (turn.signal.aborted) return { status: "cancelled" };
      }
      return { status: "completed" };
    },
    steer(turn, { kind, text }) {
      if (options.steer === "throws") throw new Error("no correction today");
      corrections.get(turn)?.(`${kind}: ${text}`);
      return corrections.has(turn);
    },
    close: () => {
      if (options.close === "throws") throw new Error("does not close");
      return options.close === "deaf" ? new Promise(() => undefined) : undefined;
    },
  };
}
