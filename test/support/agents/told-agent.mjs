// An ACP agent that does what its prompt tells it, step by step: `play [{"say":"hi"},{"stop":"end_turn"}]`.
// Arguments: `mute` never answers the handshake, `quit` exits at once, `old` speaks version 0, `shut` opens no session,
// `same` gives every session one id, `stubborn` ignores the end of its input and SIGTERM.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const mode = process.argv[2];
const cancels = new Map();
let sessions = 0;

if (mode === "quit") {
  process.stderr.write("no model is configured\n");
  process.exit(3);
}
if (mode === "stubborn") {
  process.on("SIGTERM", () => undefined);
  createServer().listen(0, "127.0.0.1");
}

async function play(step, { sessionId, prompt }, client, cancelled) {
  const update = (fields) => client.notify(methods.client.session.update, { sessionId, update: fields });
  const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  if ("say" in step) return say(step.say);
  if ("update" in step) return update(step.update);
  if ("prompt" in step) return say(prompt.map((block) => block.text).join(""));
  if ("session" in step) return say(sessionId);
  if ("pid" in step) return say(String(process.pid));
  if ("env" in step) return say(JSON.stringify(process.env));
  if ("cwd" in step) return say(process.cwd());
  if ("raw" in step) return void process.stdout.write(step.raw);
  if ("stderr" in step) return void process.stderr.write(step.stderr);
  if ("exit" in step) return process.exit(step.exit);
  // Not kept alive by it: an agent ends with its input.
  if ("connect" in step) return once(connect(step.connect, "127.0.0.1").unref(), "connect");
  if ("leave" in step) return leave(step.leave);
  if ("refuse" in step) throw new RequestError(step.refuse.code, step.refuse.message, step.refuse.data);
  if ("hang" in step) return cancelled;
  if ("deaf" in step) {
    await cancelled;
    await say("heard");
    return new Promise(() => undefined);
  }
  if ("ask" in step) {
    const asked = client.request(methods.client.session.requestPermission, { sessionId, ...step.ask });
    const { outcome } = await asked;
    return say(outcome.outcome === "selected" ? outcome.optionId : outcome.outcome);
  }
  throw new Error(`unknown step ${JSON.stringify(step)}`);
}

/** Starts a process that holds this one's output open, and a connection that tells of its end. */
async function leave(port) {
  const code = `require("node:net").connect(${port}, "127.0.0.1", () => process.send("up"))`;
  await once(spawn(process.execPath, ["-e", code], { stdio: ["inherit", "inherit", "inherit", "ipc"] }), "message");
}

agent({ name: "told-agent" })
  .onRequest("initialize", () =>
    mode === "mute"
      ? new Promise(() => undefined)
      : { protocolVersion: mode === "old" ? 0 : 1, agentCapabilities: { sessionCapabilities: { close: {} } } },
  )
  .onRequest("session/new", () => {
    if (mode === "shut") throw RequestError.authRequired();
    return { sessionId: mode === "same" ? "s1" : `s${++sessions}` };
  })
  .onRequest("session/close", ({ params }) => void process.stderr.write(`closed ${params.sessionId}\n`))
  .onNotification("session/cancel", ({ params }) => cancels.get(params.sessionId)?.())
  .onRequest("session/prompt", async ({ params, client }) => {
    let stopReason = "end_turn";
    const cancelled = new Promise((resolve) => {
      cancels.set(params.sessionId, resolve);
    }).then(() => {
      stopReason = "cancelled";
    });
    const text = params.prompt.map((block) => block.text).join("");
    for (const step of JSON.parse(text.slice(text.lastIndexOf("play [") + 5))) {
      if ("stop" in step) return { stopReason: step.stop, ...(step.usage && { usage: step.usage }) };
      await play(step, params, client, cancelled);
    }
    return { stopReason };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
