import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../core/index.ts";
import { Bus, openBus, secret, startedPayload, tapFrames } from "../support/bus.ts";

/** As much of the secret as may show: a tail of 8 that a frame interrupted. */
const shown = secret.slice(0, 9);

const step = fc.oneof(
  fc.record({ type: fc.constantFrom("message.delta", "reasoning.delta"), units: fc.integer({ min: 1, max: 40 }) }),
  fc.record({
    type: fc.constantFrom("tool.start", "tool.complete", "error", "message.interim", "agent.own", "ask"),
    units: fc.nat(3),
  }),
);

describe("I13 secrets stop at the seam", () => {
  it("I13 no queue, frame or request holds a secret, however it is cut and wherever it is put", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const bus = new Bus();
        const frames = tapFrames(bus);
        const { events } = bus.watch({ payload: "full" });
        const attempt = bus.begin();
        const text = `${secret} `.repeat(60);
        const at = { "message.delta": 0, "reasoning.delta": 0 };
        for (const [k, { type, units }] of steps.entries()) {
          if (type === "message.delta" || type === "reasoning.delta") {
            bus.emit(attempt, type, { text: text.slice(at[type], (at[type] += units)) });
          } else if (type === "ask") {
            const params = { command: `run ${secret}`, tool_id: `${k}${secret}`, tool_name: secret };
            void bus.tap.requests.ask(attempt, { method: "approval", params });
          } else {
            const nested = { [secret]: [{ note: secret }], api_key: secret };
            bus.emit(attempt, type, {
              tool_id: `t${units}`,
              name: secret,
              args: nested,
              result: nested,
              message: secret,
              text: secret,
            });
          }
        }
        const requests = bus.tap.requests.open().map(({ params }) => params);
        bus.settle(attempt);
        while (bus.clock.tick() > 0);
        expect(JSON.stringify([frames, events, requests])).not.toContain(shown);
        bus.close();
      }),
      { numRuns: 200 },
    );
  });

  it("I13 the post that began a turn is masked in the event", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const input = [{ message_id: "m1", author: { kind: "person", id: "ada" }, text: `use ${secret}` }] as const;
    const payload = { ...startedPayload, input };
    bus.tap.started(bus.begin(), payload, { seq: 1, hash: "h1" });
    await bus.idle();
    expect(events[0]?.payload).toEqual({
      ...payload,
      input: [{ ...input[0], text: "use [redacted]" }],
      row: { seq: 1, hash: "h1" },
    });
    expect(input[0].text).toContain(secret);
  });

  it("I13 a secret that is registered while a turn runs is masked from then on", () => {
    const redactor = createRedactor();
    const bus = openBus({ redactor });
    const attempt = bus.begin();
    const late = "another-value-of-20";
    bus.delta(attempt, `${late}, `);
    redactor.addLiterals([late]);
    bus.delta(attempt, `${late}, `);
    expect(bus.tap.seal(attempt, "interrupted").text).toBe(`${late}, [redacted], `);
  });
});
