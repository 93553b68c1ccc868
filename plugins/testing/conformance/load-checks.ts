import { secretsOfEnvironment } from "../../../core/index.ts";
import type { TestHost } from "../test-host.ts";
import type { CheckSpec, Trial } from "./options.ts";
import { grown, resources } from "./resources.ts";
import { placeIn, story } from "./story.ts";
import { expectSound, failed, roomOf, withHost } from "./trial.ts";

/** A credential of nobody, in no rule of the redactor: what an agent may read out without anybody knowing it as one. */
const sentinel = "zebra-lantern-4417-quiet-harbour";

const secrets: CheckSpec = {
  name: "stores and tells no secret",
  run: (trial) =>
    withHost(trial, async (host) => {
      for (const event of story(placeIn(roomOf(host)), { text: `key ${sentinel} end` })) await host.deliver(event);
      await expectSound(host, "a turn with a secret in it");
      const { storesTexts = false } = trial.options;
      await host.disable();
      const stored = await storedBy(host);
      const told = toldOf(host);
      const configured = configSecrets(trial);
      const places = [
        ...(storesTexts ? [] : [["its storage", stored, sentinel, "an event"] as const]),
        ["its log, or a notice of it", told, sentinel, "an event"] as const,
        ...configured.flatMap((secret) => [
          ["its storage", stored, secret, "its config"] as const,
          ["its log, or a notice of it", told, secret, "its config"] as const,
        ]),
      ];
      const leak = places.find(([, text, secret]) => text.includes(secret));
      if (leak === undefined) return;
      const [place, , , source] = leak;
      throw failed(
        `no secret of ${source} in ${place}`,
        "it stands there in clear",
        source === "an event"
          ? "Keep counts, ids and names, not texts; or say storesTexts here and what is kept in the manifest's disclosure."
          : "Leave values of the config out of what is stored, logged and thrown.",
      );
    }),
};

/** Everything that the plugin has stored, keys too, as one text. */
async function storedBy({ storage }: TestHost): Promise<string> {
  const keys = await storage.keys();
  return JSON.stringify(await Promise.all(keys.map(async (key) => [key, await storage.get(key)])));
}

/** Everything that operators read of the plugin, as one text. */
function toldOf(host: TestHost): string {
  const notices = host.notices.map(({ message, cause }) => `${message} ${cause instanceof Error ? cause.message : ""}`);
  return JSON.stringify([host.logs, notices, host.info()?.last_fault], (_, value: unknown) =>
    value instanceof Error ? value.message : value,
  );
}

/** Values of the config whose names say KEY, TOKEN, SECRET or PASSWORD, and those that were named. */
function configSecrets({ options }: Trial): readonly string[] {
  const found: string[] = [...(options.secrets ?? [])];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === "string") found.push(...secretsOfEnvironment({ [name]: inner }));
      else walk(inner);
    }
  };
  walk(options.config);
  return found;
}

/** Of a plugin that holds something per event this many more are found. */
const maxHeld = 64;

const flood: CheckSpec = {
  name: "comes through a flood at the bounds of its queues",
  run: (trial) =>
    withHost(
      trial,
      async (host) => {
        const room_id = roomOf(host);
        const before = resources();
        const { timers } = host.clock;
        const release = host.stall();
        for (let at = 0; at < 150; at++) {
          const turn = host.turn({ room_id, member_id: `m-${at % 3}` }).started();
          for (let piece = 0; piece < 20; piece++) turn.text(`piece ${piece} `).reasoning("hm ");
          turn.tool("read", { path: "a" }).ok("b").interim("...").error("...").settled();
        }
        release();
        await expectSound(host, "a flood");
        const wrong = host.stats().find((each) => each.published !== each.delivered + each.merged + each.dropped);
        if (wrong !== undefined) {
          throw failed(
            "every event read or told as lost",
            JSON.stringify(wrong),
            "Have the handler come back from each call.",
          );
        }
        const waiting = host.clock.timers - timers;
        const found = (await grown(before, maxHeld)) ?? (waiting >= maxHeld ? `${waiting} timers of ctx.clock` : null);
        if (found === null) return;
        throw failed(
          "nothing that grows with the number of events",
          `${found} after 150 turns`,
          "Hold one timer or socket for all events, not one for each, and bound what waits.",
        );
      },
      { bounds: { maxEvents: 64, maxBytes: 65_536 } },
    ),
};

/** What a plugin may keep and how much it may hold. */
export const loadChecks: readonly CheckSpec[] = [secrets, flood];
