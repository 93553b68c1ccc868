import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { enqueue, limits, queueBytes, type QueuedPrompt } from "../../../core/index.ts";

let inputs = 0;

const prompt = (text: string, origin: string | null = "c-a", fields: Partial<QueuedPrompt> = {}): QueuedPrompt => ({
  inputs: [{ id: `in-${++inputs}` }],
  origin,
  text,
  ...fields,
});

/** The line after these prompts; what is refused is left out. */
function line(...prompts: readonly QueuedPrompt[]): readonly QueuedPrompt[] {
  return prompts.reduce<readonly QueuedPrompt[]>((queue, next) => {
    const added = enqueue(queue, next);
    return added.status === "queue_full" ? queue : added.queue;
  }, []);
}

const textsOf = (queue: readonly QueuedPrompt[]) => queue.map(({ origin, text }) => [origin, text]);

describe("the line of a session", () => {
  it("W15 joins texts of one client, wherever its last one stands", () => {
    expect(textsOf(line(prompt("a1"), prompt("b1", "c-b"), prompt("a2"), prompt("b2", "c-b")))).toEqual([
      ["c-a", "a1\n\na2"],
      ["c-b", "b1\n\nb2"],
    ]);
  });

  it.each<readonly [string, Partial<QueuedPrompt>, Partial<QueuedPrompt>]>([
    ["attachments before", { attachments: ["a"] }, {}],
    ["attachments behind", {}, { attachments: ["a"] }],
    ["parts", { parts: [{ type: "image" }] }, {}],
    ["hidden words", { display_kind: "hidden" }, {}],
  ])("joins no text to another kind of prompt: %s", (_, first, second) => {
    expect(line(prompt("a1", "c-a", first), prompt("a2", "c-a", second))).toHaveLength(2);
  });

  it("joins a text only to the last prompt of its client", () => {
    const queue = line(prompt("a1"), prompt("a2", "c-a", { attachments: ["a"] }), prompt("a3"));
    expect(textsOf(queue)).toEqual([
      ["c-a", "a1"],
      ["c-a", "a2"],
      ["c-a", "a3"],
    ]);
  });

  it("I8 joins up to 64 submissions into one", () => {
    const texts = Array.from({ length: limits.maxMergedInputs }, (_, index) => prompt(`${index}`));
    expect(line(...texts.slice(1))).toHaveLength(1);
    expect(line(...texts)).toHaveLength(1);
    expect(line(...texts, prompt("one more")).map((entry) => entry.inputs.length)).toEqual([64, 1]);
  });

  it("I8 holds 32 entries, and merges into a full line", () => {
    const entries = Array.from({ length: limits.maxQueuedPrompts }, (_, index) => prompt("x", `c-${index}`));
    const full = line(...entries);
    expect([line(...entries.slice(1)).length, full.length]).toEqual([31, 32]);
    expect(enqueue(full, prompt("x", "c-more")).status).toBe("queue_full");
    expect(enqueue(full, prompt("y", "c-0")).status).toBe("merged");
  });

  it.each([
    [-1, "queued"],
    [0, "queued"],
    [1, "queue_full"],
  ])("I8 holds 1 MiB of text: %i byte beyond it", (beyond, status) => {
    const half = prompt("é".repeat(limits.maxQueuedPromptBytes / 4));
    const rest = prompt("x".repeat(limits.maxQueuedPromptBytes / 2 + beyond), "c-b");
    expect(enqueue([half], rest).status).toBe(status);
  });

  it("counts attachments and parts as JSON", () => {
    expect(queueBytes([prompt("abc"), prompt("abc", "c-b", { parts: [{ a: 1 }], attachments: ["é"] })])).toBe(
      3 + 9 + 6,
    );
  });

  it("gives each entry one origin, and loses and reorders no text of a client", () => {
    const any = fc.record({
      text: fc.string({ minLength: 1 }),
      origin: fc.constantFrom("c-a", "c-b", null),
      attachments: fc.option(fc.constant(["a"] as const), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 30 }), (given) => {
        const prompts = given.map(({ text, origin, attachments }) =>
          prompt(text, origin, attachments === undefined ? {} : { attachments }),
        );
        const queue = line(...prompts);
        for (const client of ["c-a", "c-b", null]) {
          const own = <Entry extends { readonly origin: string | null }>(entries: readonly Entry[]) =>
            entries.filter(({ origin }) => origin === client);
          expect(own(queue).flatMap((entry) => entry.inputs)).toEqual(own(prompts).flatMap((entry) => entry.inputs));
          expect(
            own(queue)
              .map(({ text }) => text)
              .join("\n\n"),
          ).toBe(
            own(prompts)
              .map(({ text }) => text)
              .join("\n\n"),
          );
        }
      }),
    );
  });
});
