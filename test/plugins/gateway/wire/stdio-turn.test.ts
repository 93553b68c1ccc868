import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import type { Came, CameParams } from "../../../support/host-client.ts";
import { openHost } from "../../../support/open-host.ts";
import { until } from "../../../support/turns-of-loop.ts";

it("W10 a turn over stdio names no origin, in no frame", async () => {
  const host = await openHost();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const stdio = host.tap.openStdio({ input, output });
  const came: Came[] = [];
  let rest = "";
  output.on("data", (piece: Buffer) => {
    const lines = (rest + piece.toString()).split("\n");
    rest = lines.pop() ?? "";
    came.push(...lines.map((line) => JSON.parse(line) as Came));
  });
  const call = async (id: number, method: string, params: object): Promise<Came["result"]> => {
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const reply = (): Came | undefined => came.find((each) => each.id === id);
    await until(() => reply() !== undefined);
    return reply()?.result;
  };
  await until(() => came.length > 0);
  expect(came[0]?.params?.type).toBe("gateway.ready");
  expect(Object.keys(came[0]?.params?.payload ?? {}).toSorted()).toEqual([
    "capabilities",
    "change_events",
    "protocol",
    "replay_epoch",
    "skin",
  ]);
  const created = await call(1, "session.create", {});
  const submitted = await call(2, "prompt.submit", { session_id: created?.["session_id"], text: "hello" });
  (await host.agent.turn()).say("hi");
  await until(() => came.some(({ params }) => params?.type === "message.complete"));
  const events = came.slice(1).flatMap(({ params }): readonly CameParams[] => (params === undefined ? [] : [params]));
  const turn = events.filter((event) => event.turn !== undefined);
  expect(turn.map(({ type }) => type)).toEqual(["message.start", "session.info", "message.delta", "message.complete"]);
  for (const event of turn) {
    expect(event.turn).toEqual({ id: submitted?.["turn_id"], source: { kind: "unknown" } });
  }
  expect(events.some((event) => "origin" in event)).toBe(false);
  input.end();
  expect(await stdio.ended).toBe("end_of_input");
});
