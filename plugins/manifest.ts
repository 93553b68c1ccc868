import { z } from "zod";
import { isId, RoomtapError } from "../core/index.ts";
import { firstProblem } from "./runners/index.ts";
import { kindsNamed, knownPatterns } from "./patterns.ts";
import { pluginGrants } from "./permit.ts";
import { pluginId } from "./plugin-id.ts";
import { routePath, serverPathProblem } from "./route-path.ts";
import { shown } from "./shown.ts";
import { isVersionRange } from "./versions.ts";

/** The contract between plugins and hosts that this version speaks. */
export const pluginApiVersion = 1;

/** Says of a value that does not fit what was expected and what was found. */
function expected(what: string): { readonly error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => `expected ${what}, got ${shown(input)}` };
}

function oneOf<const Words extends readonly string[]>(...words: Words): z.ZodType<Words[number]> {
  return z.enum(words, { error: ({ input }) => `no such word ${shown(input)}; known: ${words.join(", ")}` });
}

const range = z.string(expected("a range of versions")).refine(isVersionRange, expected("a range such as ^1.2.0"));
const path = z
  .string()
  .regex(routePath, expected("a path such as /metrics or /files/*"))
  .refine((text) => serverPathProblem(text) === null, {
    error: ({ input }) => `a path of the server: ${serverPathProblem(String(input))}, got ${shown(input)}`,
  });
const pattern = z.string(expected("a kind")).refine((text) => kindsNamed(text).length > 0, {
  error: ({ input }) => `no activity kind matches ${shown(input)}; known: ${knownPatterns}`,
  params: { code: "unknown_kind" },
});

const permissionsSchema = z.strictObject({
  /** Rooms that it sees, by id. Default: all. */
  rooms: z
    .union(
      [z.literal("all"), z.array(z.custom<string>(isId, expected("the id of a room"))).min(1, "expected at least one")],
      {
        error: 'expected "all", or a list of ids of rooms',
      },
    )
    .default("all"),
  /** How much of each event its handlers may have. Default `standard`. */
  payload: oneOf("meta", "standard", "full").default("standard"),
  reasoning: z.boolean(expected("true or false")).default(false),
  /** `observe`: what approvals are about; `answer`: that, and to answer requests of rooms. */
  approvals: oneOf("none", "observe", "answer").default("none"),
  /** HTTP below its own path; or that, and these paths of the server. */
  routes: z
    .union([z.boolean(), z.array(path).min(1, "expected at least one")], {
      error: "expected true, false, or a list of paths such as /metrics",
    })
    .default(false),
  /** Grants that it makes use of, and does without when they are not given. `ctx.grants` says which were. */
  optional: z.array(oneOf(...pluginGrants), expected("a list of grants")).default([]),
});

const manifestSchema = z.strictObject({
  /** The plugin's own, if it differs from what its code says the plugin does not load. */
  id: z.string().regex(pluginId, expected("1 to 64 of A-Z a-z 0-9 . _ -")).optional(),
  /** The contract that it is written for. */
  apiVersion: z.literal(pluginApiVersion, expected(String(pluginApiVersion))),
  engines: z.strictObject({ roomtap: range.optional(), node: range.optional() }).default({}),
  /** Kinds that its handlers may ask for. Default: all. */
  hooks: z.array(pattern, expected("a list of kinds")).min(1, "expected at least one").default(["*"]),
  permissions: permissionsSchema.prefault({}),
  /** Where it may run. `any` leaves it to the operator. */
  isolation: oneOf("inline", "worker", "any").default("any"),
  /** Plugins that are set up before it and must be there, with the versions that will do. */
  dependencies: z.record(z.string().regex(pluginId, expected("the id of a plugin")), range).default({}),
  /** For operators: what it does with what it sees. At most 500 characters. */
  disclosure: z.string().max(500).optional(),
});

/** A manifest as its author writes it. */
export type ManifestInput = z.input<typeof manifestSchema>;
/** The same with its defaults. */
export type Manifest = z.output<typeof manifestSchema>;
/** What a plugin asks for. */
export type Permissions = Manifest["permissions"];

/** Behind an unknown key: those that are known in its place. */
function knownKeys({ issues }: z.ZodError): string {
  const issue = issues.find(({ code }) => code === "unrecognized_keys");
  if (issue === undefined) return "";
  const shapes: { readonly [path: string]: object } = {
    "": manifestSchema.shape,
    engines: manifestSchema.shape.engines.unwrap().shape,
    permissions: permissionsSchema.shape,
  };
  return `; known: ${Object.keys(shapes[issue.path.join(".")] ?? {}).join(", ")}`;
}

/**
 * A manifest from outside: `roomtap` in a package.json, or `manifest` of a plugin. Strict: an unknown key is an error.
 * @param subject whose it is, for the message: `plugin crew`
 * @throws RoomtapError `unknown_kind` for a hook that no kind matches, else `invalid_plugin`: `plugin crew: manifest:
 * permissions.payload: no such word "everything"; known: meta, standard, full`
 */
export function parseManifest(value: unknown, subject: string): Manifest {
  const parsed = manifestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const isKind = parsed.error.issues[0]?.path[0] === "hooks" && parsed.error.issues[0].code === "custom";
  const code = isKind ? "unknown_kind" : "invalid_plugin";
  const problem = `${firstProblem(parsed.error, [])}${knownKeys(parsed.error)}`;
  throw new RoomtapError(code, `${subject}: manifest: ${problem}`, { cause: parsed.error });
}
