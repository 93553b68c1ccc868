import { z } from "zod";
import { busyModes, isId, RoomtapError } from "../core/index.ts";
import { policySchema } from "../rooms/index.ts";
import { pluginGrants } from "./permit.ts";
import { firstProblem } from "./runners/index.ts";
import { shown } from "./shown.ts";

/** Says of a value that does not fit what was expected and what was found. */
function expected(what: string): { readonly error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => `expected ${what}, got ${shown(input)}` };
}

const text = (what: string): z.ZodType => z.string(expected(what)).min(1, expected(what));
const atLeast = (least: number, what: string): z.ZodType =>
  z.custom((value) => typeof value === "number" && value >= least, expected(what)).optional();
const callable = z.custom((value) => typeof value === "function", expected("a function")).optional();

/** An object, plain or of a class, that has these methods. */
function having(what: string, ...methods: readonly string[]): z.ZodType {
  return z
    .custom((value) => missing(value, methods).length === 0, expected(`${what} with ${methods.join(", ")}`))
    .optional();
}

function missing(value: unknown, methods: readonly string[]): readonly string[] {
  if (typeof value !== "object" || value === null) return methods;
  return methods.filter((method) => typeof Reflect.get(value, method) !== "function");
}

/** A runner's config is parsed by its own schema, with its own code; here it is only told from what is none. */
const runnerSchema = z.custom((value) => runnerProblem(value) === null, {
  error: ({ input }) =>
    "expected a config of kind acp, module or scripted, a runner with kind, run and close, or null for a person, " +
    `got ${runnerProblem(input) ?? ""}`,
});

/** An agent of sessions is no person. */
const agentSchema = z
  .custom((value) => value !== null && value !== undefined, expected("a runner, or a config of one"))
  .pipe(runnerSchema);

function runnerProblem(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return shown(value);
  const kind: unknown = Reflect.get(value, "kind");
  if (!("run" in value)) return isConfigKind(kind) ? null : `one of kind ${shown(kind)} without run`;
  const lacks = [...(typeof kind === "string" && kind !== "" ? [] : ["kind"]), ...missing(value, ["run", "close"])];
  return lacks.length === 0 ? null : `one without ${lacks.join(", ")}`;
}

function isConfigKind(kind: unknown): boolean {
  return kind === "acp" || kind === "module" || kind === "scripted";
}

const memberSchema = z.strictObject(
  {
    handle: text("what @handle is to name"),
    member_id: text("an id").optional(),
    display_name: text("a name").optional(),
    runner: runnerSchema.optional(),
  },
  expected("a member: { handle, runner }"),
);

const roomSchema = z.strictObject(
  {
    room_id: z.custom(isId, expected("1 to 128 of A-Z a-z 0-9 . _ : - beginning with a letter or a digit")),
    name: text("a name").optional(),
    members: z.array(memberSchema, expected("a list of members")),
    policy: policySchema.optional(),
  },
  expected("a room: { room_id, members }"),
);

const isBarePlugin = (entry: unknown): boolean => typeof entry === "object" && entry !== null && "setup" in entry;

const grants = z
  .array(
    z.enum(pluginGrants, {
      error: ({ input }) => `no such word ${shown(input)}; known: ${pluginGrants.join(", ")}`,
    }),
    expected("a list"),
  )
  .optional();

const objectEntrySchema = z.strictObject(
  {
    plugin: z.custom((plugin) => plugin !== undefined, expected("a plugin")),
    config: z.unknown().optional(),
    grants,
  },
  expected("an entry: { plugin, config?, grants? }"),
);

/** A plugin that is loaded from a file, as options and configs name it. */
export const pathEntrySchema = z.strictObject(
  {
    path: z.string(expected("a path")).min(1, expected("a path")),
    config: z.unknown().optional(),
    grants,
    isolation: z.enum(["inline", "worker"], expected('"inline", "worker" or nothing')).optional(),
    enabled: z.boolean(expected("true or false")).optional(),
  },
  expected("an entry: { path, config?, grants?, isolation?, enabled? }"),
);

const pluginSchema = z
  .custom((entry) => !isBarePlugin(entry), { error: "expected an entry, got a bare plugin: write { plugin: ... }" })
  .transform((entry, context) => {
    if (typeof entry === "string" && entry !== "") return entry;
    const isPath = typeof entry === "object" && entry !== null && "path" in entry;
    const parsed = (isPath ? pathEntrySchema : objectEntrySchema).safeParse(entry);
    if (parsed.success) return entry;
    for (const issue of parsed.error.issues) context.addIssue({ ...issue } as Parameters<typeof context.addIssue>[0]);
    return z.NEVER;
  });

/** What stands there may be a secret: it is not shown. */
const secretError = {
  error: ({ input }: { readonly input?: unknown }) => `expected a list of texts, got ${typeof input}`,
};

const optionsSchema = z.strictObject(
  {
    db: text('the path of a database, or ":memory:"'),
    rooms: z.array(roomSchema, expected("a list of rooms")),
    agents: z.record(z.string(), agentSchema, expected("agents by id")).optional(),
    auth: z
      .union([z.literal("none"), z.looseObject({})], expected('"none", or an object with token, tokens or jwks'))
      .optional(),
    busyMode: z.enum(busyModes, expected('"interrupt", "steer", "queue" or nothing')).optional(),
    approve: z.enum(["once", "deny"], expected('"once", "deny" or nothing')).optional(),
    plugins: z.array(pluginSchema, expected("a list of { plugin: ... }")).optional(),
    secrets: z.array(z.string(secretError), secretError).optional(),
    onRequest: callable,
    report: callable,
    logger: having("a logger", "debug", "info", "warn", "error"),
    maxConcurrentTurns: atLeast(1, "a whole number from 1"),
    stopGraceMs: atLeast(0, "0 or more milliseconds"),
    turnDeadlineMs: atLeast(0, "0 or more milliseconds"),
    ownerGraceMs: atLeast(0, "0 or more milliseconds"),
    concealPrivate: z.boolean(expected("true or false")).optional(),
    leaseTtlMs: atLeast(100, "100 to 600,000 milliseconds"),
    onWait: callable,
    busyTimeoutMs: atLeast(0, "0 or more milliseconds"),
    clock: having("a clock", "now", "monotonic", "after", "defer"),
    ids: having("a source of ids", "hex"),
  },
  expected("options: { db, rooms }"),
);

/**
 * Checks the shape of what `createRoomtap` is given, before anything is opened. Strict: an unknown key is an error at its
 * path. Plugins, runners' configs and rosters are checked further by those who take them.
 * @throws RoomtapError `invalid_params`: `rooms[0].members: expected a list of members, got undefined`
 */
export function checkHostOptions(options: unknown): void {
  const { error } = optionsSchema.safeParse(options);
  if (error !== undefined) throw new RoomtapError("invalid_params", firstProblem(error, []), { cause: error });
}
