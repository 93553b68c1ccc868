import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { turnOf } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import { HermesClient } from "../../../support/hermes-client.ts";
import { temporaryFolder } from "../../../support/open-log.ts";
import { newSession, openHost, type CameParams, type OpenHost } from "../../../support/open-host.ts";
import { until } from "../../../support/turns-of-loop.ts";

/** A host on a file, and what opens the next life of it on the same port. */
async function hostWithLives(): Promise<{ readonly host: OpenHost; readonly restart: () => Promise<OpenHost> }> {
  const db = join(temporaryFolder(), "host.db");
  const host = await openHost({ db });
  return {
    host,
    async restart() {
      await host.close();
      return openHost({ db, port: host.port });
    },
  };
}

/** A client, and each call that it sends. */
function recordedClient(): { readonly client: HermesClient; readonly sent: { readonly method?: string }[] } {
  const sent: { readonly method?: string }[] = [];
  class Recorded extends WebSocket {
    override send(data: string): void {
      sent.push(JSON.parse(data) as { readonly method?: string });
      super.send(data);
    }
  }
  return { client: new HermesClient(Recorded as unknown as ConstructorParameters<typeof HermesClient>[0]), sent };
}

describe("a host that is restarted on its port", () => {
  it("W37 has another epoch, in which the client asks for no replay", async () => {
    const { host, restart } = await hostWithLives();
    const { client, sent } = recordedClient();
    await client.connect(host.url);
    const { session_id, stored_session_id } = (await client.request("session.create")) as Record<string, string>;
    await client.request("prompt.submit", { session_id, text: "go" });
    (await host.agent.turn()).say("Done.");
    await until(() => Number(client.watermarks.get(session_id ?? "")) >= 4);
    const { replay_epoch, resume_token, origin } = client.ready;
    const second = await restart();
    await until(() => client.state === "closed");
    const before = sent.length;
    await client.connect(`${second.url}&resume=${String(resume_token)}`);
    await client.replayed;
    expect(client.ready["replay_epoch"]).not.toBe(replay_epoch);
    expect([client.ready["resumed"], client.ready["origin"] === origin]).toEqual([false, false]);
    expect(sent.slice(before).map(({ method }) => method)).toEqual(["client.capabilities"]);
    expect([...client.watermarks]).toEqual([]);
    // The next life knows nothing of the old runtime id, and all of the session.
    await expect(client.request("session.activate", { session_id })).rejects.toMatchObject({ code: 4001 });
    expect(await client.request("session.resume", { session_id: stored_session_id })).toMatchObject({
      running: false,
      epoch: client.ready["replay_epoch"],
      last_turn: { status: "completed" },
      messages: [
        { role: "user", text: "go" },
        { role: "assistant", text: "Done." },
      ],
    });
    client.close();
  });

  it("W37 closes its clients with 1001, and lets them in again", async () => {
    const { host, restart } = await hostWithLives();
    const a = await host.connect();
    const second = await restart();
    expect(await a.closed).toEqual({ code: 1001, reason: "shutting_down" });
    const again = await second.connect();
    expect(again.origin).not.toBe(a.origin);
  });

  it.each([
    [3, [], true],
    [45, numbers(41, 45), false],
  ])("C-023 that emits %i frames answers a cursor by its own numbers", async (count, seqs, truncated) => {
    const { host, restart } = await hostWithLives();
    const a = await host.connect();
    const { stored_session_id, session_id } = await newSession(a);
    const first = await turnOf(host, a, session_id);
    await a.event("session.info");
    while (a.events().length < 40) {
      first.delta("x");
      await a.settled();
    }
    first.end();
    await a.event("message.complete");
    const second = await restart();
    const b = await second.connect();
    const resumed = await b.call("session.resume", { session_id: stored_session_id });
    const turn = await turnOf(second, b, String(resumed["session_id"]));
    await b.event("session.info");
    while (b.events().length < count) {
      turn.delta("y");
      await b.settled();
    }
    const epoch = b.ready["replay_epoch"];
    const asked = { session_id: resumed["session_id"], last_seen: 40 };
    const reply = await b.call("session.events.since", asked);
    expect([reply["epoch"], resumed["epoch"], epoch === a.ready["replay_epoch"]]).toEqual([epoch, epoch, false]);
    expect([(reply["events"] as readonly CameParams[]).map(({ seq }) => seq), reply["truncated"]]).toEqual([
      seqs,
      truncated,
    ]);
    expect(await b.call("session.events.since", { session_id, last_seen: 40 })).toMatchObject({
      events: [],
      latest_seq: 0,
      truncated: true,
    });
    const { messages } = await b.call("session.history", { session_id: resumed["session_id"] });
    expect(messages).toMatchObject([{ role: "user", text: "go" }, { role: "assistant" }, { role: "user", text: "go" }]);
  });

  it("withdraws what was asked, and asks nothing again by itself", async () => {
    const { host, restart } = await hostWithLives();
    const a = await host.connect({ asks: true });
    const { stored_session_id, session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    const answered = turn.ask("clarify", { question: "Deploy?" });
    const { id } = await a.request("clarify");
    const second = await restart();
    expect(await answered).toEqual({ outcome: "cancelled", reason: "shutdown", by: null });
    await a.closed;
    expect(a.events("request.cancel").map(({ payload }) => payload)).toEqual([
      { id, method: "clarify", reason: "shutdown" },
    ]);
    const b = await second.connect({ asks: true });
    expect(await b.call("session.resume", { session_id: stored_session_id })).toMatchObject({
      open_requests: [],
      status: "idle",
    });
    expect(await b.refused("request.answer", { id, result: { answer: "yes" } })).toEqual([4014, "unknown_request"]);
  });
});
