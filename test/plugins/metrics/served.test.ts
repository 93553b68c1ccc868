import { expect, it, onTestFinished } from "vitest";
import { createRoomtap, metrics, type MetricsConfig } from "../../../index.ts";
import { parsePrometheus } from "../../support/prometheus-text.ts";

/** Strong enough for any bind. */
const tokenOf = (name: string): string => `gw_${name}_0123456789abcdefghijklmnopqrstuvwxyz`;

/** A host with a room whose member says a word, and its server. */
async function serve(config?: MetricsConfig) {
  const runner = { kind: "scripted", script: { steps: [{ delta: "hi" }] } } as const;
  const tap = await createRoomtap({
    db: ":memory:",
    rooms: [{ room_id: "r1", members: [{ handle: "a", runner }] }],
    auth: {
      tokens: (["read", "admin"] as const).map((scope) => ({
        token: tokenOf(scope),
        principal: scope,
        scopes: [scope],
      })),
    },
    plugins: [{ plugin: metrics(), config, grants: ["routes"] }],
    report: () => undefined,
  });
  onTestFinished(() => tap.close());
  const { port } = await tap.openGateway().listen({ port: 0 });
  const ask = (path: string, scope?: "read" | "admin", method = "GET"): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: scope === undefined ? {} : { authorization: `Bearer ${tokenOf(scope)}` },
    });
  return { tap, ask };
}

it("metrics are read over HTTP, in the text format of Prometheus, and health by anybody", async () => {
  const { tap, ask } = await serve();
  await tap.room("r1").post({ text: "@a hello" });
  await tap.finish();
  const response = await ask("/metrics", "read");
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  const families = parsePrometheus(await response.text());
  expect(families.get("roomtap_turns_total")?.samples).toEqual(
    new Map([['roomtap_turns_total{reason_code="none",status="completed"}', 1]]),
  );
  expect([(await ask("/livez")).status, await (await ask("/readyz")).text()]).toEqual([200, "ready\n"]);
  expect((await ask("/metrics", "read", "HEAD")).status).toBe(200);
  expect((await ask("/metrics", "read", "POST")).status).toBe(405);
  await tap.plugins.disable("metrics");
  expect((await ask("/readyz")).status).toBe(404);
});

it.each([
  [undefined, [401, 200, 200]],
  [{ scope: "read" }, [401, 200, 200]],
  [{ scope: "admin" }, [401, 403, 200]],
  [{ scope: "public" }, [200, 200, 200]],
] as const)("metrics of %j answer nobody, a reader and an admin with %j", async (config, expected) => {
  const { ask } = await serve(config);
  const answers = [await ask("/metrics"), await ask("/metrics", "read"), await ask("/metrics", "admin")];
  expect(answers.map(({ status }) => status)).toEqual(expected);
});
