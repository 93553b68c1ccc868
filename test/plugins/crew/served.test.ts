import { describe, expect, it, onTestFinished } from "vitest";
import { createRoomtap } from "../../../index.ts";
import { crew, type Board } from "../../../plugins/index.ts";
import { HeldRunner } from "../../support/open-room.ts";
import { principals, tokenOf } from "../../support/principals.ts";

const people = principals({
  boss: { scopes: ["read", "approvals"], grants: ["reasoning"] },
  watcher: { scopes: ["read"] },
  stranger: { scopes: ["read", "approvals"], rooms: ["other"] },
});

/** Crew behind a real server, and a member that asks and waits. */
async function served() {
  const held = new HeldRunner();
  const rooms = [{ room_id: "desk", members: [{ handle: "a", runner: held }] }];
  const plugins = [{ plugin: crew(), grants: ["answer", "routes", "reasoning"] as const }];
  const tap = await createRoomtap({ db: ":memory:", rooms, auth: people, plugins });
  onTestFinished(() => tap.close({ graceMs: 0 }));
  const { port } = await tap.openGateway().listen({ port: 0 });
  const ask = (path: string, as: "boss" | "watcher" | "stranger" | null, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/plugins/crew${path}`, {
      ...init,
      headers: as === null ? {} : { authorization: `Bearer ${tokenOf(as)}` },
    });
  await tap.room("desk").post({ text: "clean up" });
  const { turn } = await held.turn(0);
  const answer = turn.ask({ method: "approval", params: { command: "rm -rf build" } });
  const id = tap.requests.open()[0]?.id ?? "";
  return { tap, held, ask, answer, id };
}

/** Boards as a live stream brings them. */
async function* boardsOf(response: Response): AsyncGenerator<Board, void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const messages = rest.split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages) {
      if (message.startsWith("event: board")) yield JSON.parse(message.replace(/^event: board\ndata: /, "")) as Board;
    }
  }
}

describe("Crew behind a gateway", () => {
  it("streams a turn to its end, and takes the answer of who may give it", async () => {
    const { held, ask, answer, id, tap } = await served();
    const live = await ask("/rooms/desk/live", "boss");
    expect([live.status, live.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const path = `/rooms/desk/requests/${id}`;
    const body = JSON.stringify({ choice: "deny" });
    expect((await ask(path, "watcher", { method: "POST", body })).status).toBe(403);
    expect((await ask(path, "stranger", { method: "POST", body })).status).toBe(404);
    expect(await (await ask(path, "boss", { method: "POST", body })).json()).toMatchObject({ status: "ok" });
    expect(await answer).toMatchObject({ outcome: "denied", by: { origin: "plugin:crew" }, reason: "boss by crew" });
    (await held.turn(0)).say("no");
    await tap.finish();
    for await (const { members } of boardsOf(live)) {
      const [turn] = members[0]?.turns ?? [];
      if (turn?.status !== "completed") continue;
      expect(turn).toMatchObject({ answer: { text: "no" }, requests: [{ id, state: "resolved", outcome: "denied" }] });
      break;
    }
  });

  it("shows rooms and texts to whom they are for", async () => {
    const { ask } = await served();
    expect((await ask("/", null)).status).toBe(401);
    expect(await (await ask("/", "stranger")).json()).toEqual({ rooms: [] });
    expect((await ask("/rooms/desk", "stranger")).status).toBe(404);
    expect(await (await ask("/rooms/desk", "watcher")).text()).not.toContain("rm -rf");
  });
});
