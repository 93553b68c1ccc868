import { limits } from "./options.ts";
import { RoomtapError } from "./errors.ts";

/** What stands in place of a secret. */
export const mask = "[redacted]";

/** Secrets of one maker, told by how they begin. */
export interface SecretRule {
  readonly prefixes: readonly string[];
  /** Characters that may follow the prefix, as the inside of a regular expression's brackets, ASCII only. */
  readonly chars: string;
  /** So many of them must follow, and so many are masked at most. */
  readonly min: number;
  readonly max: number;
  /** The secret ends behind this text instead of at the first character that is not in `chars`. */
  readonly end?: string;
}

const pemKinds = ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "];

/**
 * Secrets that are known by their form. A match begins at a word's beginning, so that `task-list` is none. `min` is what
 * the shortest key of that maker has, less a margin; `max` bounds what is masked behind a prefix.
 */
export const defaultSecretRules: readonly SecretRule[] = [
  { prefixes: ["sk-"], chars: "A-Za-z0-9_-", min: 20, max: 512 },
  { prefixes: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], chars: "A-Za-z0-9", min: 20, max: 512 },
  { prefixes: ["github_pat_"], chars: "A-Za-z0-9_", min: 20, max: 512 },
  {
    prefixes: ["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
    chars: "A-Za-z0-9-",
    min: 10,
    max: 512,
  },
  { prefixes: ["AKIA"], chars: "A-Z0-9", min: 16, max: 16 },
  { prefixes: ["AIza"], chars: "A-Za-z0-9_-", min: 30, max: 64 },
  { prefixes: ["eyJ"], chars: "A-Za-z0-9_.-", min: 20, max: 8_192 },
  { prefixes: ["Bearer ", "bearer "], chars: "A-Za-z0-9._~+/=-", min: 16, max: 8_192 },
  {
    prefixes: pemKinds.map((kind) => `-----BEGIN ${kind}PRIVATE KEY-----`),
    chars: "\\x00-\\x7f",
    min: 0,
    max: 16_384,
    end: "PRIVATE KEY-----",
  },
];

/** A key of a JSON object whose value is masked whatever it looks like: `apiKey`, `X-Api-Key`, `access_token`, ... */
export function isSecretKey(key: string): boolean {
  return secretWord.test(key) || secretVariable.test(key);
}

// The words at the end of a key, in any case and with or without a divider. `tokens` is none of them: they are counted.
const secretWord =
  /(?:authorization|token|secrets?|cookies?|passphrase|(?:password|passwd)(?:s|[-_ ]?hash)?|(?:api|secret|private|access|encryption|signing|master|auth)[-_ ]?key)$/i;

// A variable of an environment that ends in KEY. Of a database and of a cache keys are no secrets.
const secretVariable = /^(?!(?:.*_)?(?:PRIMARY|FOREIGN|UNIQUE|PARTITION|SORT|CACHE|PUBLIC)_KEY$)[A-Z0-9_]+_KEY$/;

/** Names of environment variables whose values are registered as literals. */
const secretName = /KEY|TOKEN|SECRET|PASSWORD/i;

/**
 * The values of an environment that look like secrets by their names, and are long enough to be masked. One that is too
 * long for a literal comes in pieces.
 */
export function secretsOfEnvironment(environment: { readonly [name: string]: string | undefined }): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    secretName.test(name) && value !== undefined && value.length >= limits.minLiteralUnits ? pieces(value) : [],
  );
}

/** Of equal length, so that none is too short to be masked. */
function pieces(value: string): readonly string[] {
  const length = Math.ceil(value.length / Math.ceil(value.length / limits.maxLiteralUnits));
  const starts = Array.from({ length: Math.ceil(value.length / length) }, (_, index) => index * length);
  return starts.map((start) => value.slice(start, start + length));
}

/** What follows the prefix of a rule. */
export interface SecretPattern {
  /** By character code below 128: 1 where the character may follow. */
  readonly allowed: Uint8Array;
  readonly min: number;
  readonly max: number;
  readonly end: string | null;
}

/** A literal, or one prefix of a rule, ready to be compared. */
export interface CompiledRule {
  readonly prefix: string;
  /** null for a literal. */
  readonly pattern: SecretPattern | null;
}

/** Rules by the first character of what they match. */
export interface RuleSet {
  /** By character code below 128. */
  readonly ascii: readonly (readonly CompiledRule[] | undefined)[];
  /** 0: no rule; 1: only rules that need a word's beginning; 2: a literal among them. */
  readonly flags: Uint8Array;
  readonly others: ReadonlyMap<number, readonly CompiledRule[]>;
  /**
   * Finds the first `headUnits` characters of anything that a rule might match. A text without such a head can hold a
   * secret only in its last `headUnits - 1` characters: one regular expression is several times faster than a loop.
   */
  readonly heads: RegExp;
}

/** UTF-16 units of a head: with fewer, each character of a dashed line would look like the beginning of a private key. */
export const headUnits = 6;

/**
 * @throws RoomtapError `invalid_params` for a literal shorter than 9 or longer than 4,096 UTF-16 units, for more than
 * 1,024 literals, and for a rule whose bounds are no bounds
 */
export function compileRules(rules: readonly SecretRule[], literals: Iterable<string>): RuleSet {
  const compiled: CompiledRule[] = [];
  const registered = new Set(literals);
  if (registered.size > limits.maxLiterals) {
    throw new RoomtapError("invalid_params", `at most ${limits.maxLiterals} secrets can be registered`);
  }
  for (const literal of registered) {
    if (literal.length < limits.minLiteralUnits || literal.length > limits.maxLiteralUnits) {
      throw new RoomtapError(
        "invalid_params",
        `a registered secret has ${limits.minLiteralUnits} to ${limits.maxLiteralUnits} characters, got ${literal.length}`,
      );
    }
    for (const form of formsOf(literal)) compiled.push({ prefix: form, pattern: null });
  }
  for (const rule of rules) {
    if (!(rule.min >= 0 && rule.min <= rule.max && rule.prefixes.every((prefix) => prefix.length > 0))) {
      throw new RoomtapError("invalid_params", `a secret rule needs prefixes and 0 <= min <= max: ${rule.prefixes[0]}`);
    }
    const allowed = charTable(rule.chars);
    const pattern = { allowed, min: rule.min, max: rule.max, end: rule.end ?? null };
    for (const prefix of rule.prefixes) compiled.push({ prefix, pattern });
  }
  return index(compiled);
}

/** A literal as it is, and as JSON writes it inside a string: with and without escapes of what is not ASCII. */
function formsOf(literal: string): ReadonlySet<string> {
  const escaped = JSON.stringify(literal).slice(1, -1);
  const ascii = escaped.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return new Set([literal, ...pieces(escaped), ...pieces(ascii)]);
}

function index(compiled: readonly CompiledRule[]): RuleSet {
  const ascii: (CompiledRule[] | undefined)[] = Array.from({ length: 128 }, () => undefined);
  const flags = new Uint8Array(128);
  const others = new Map<number, CompiledRule[]>();
  for (const rule of compiled) {
    const code = rule.prefix.charCodeAt(0);
    const list = (code < 128 ? ascii[code] : others.get(code)) ?? [];
    list.push(rule);
    if (code < 128) {
      ascii[code] = list;
      flags[code] = Math.max(flags[code] ?? 0, rule.pattern === null ? 2 : 1);
    } else {
      others.set(code, list);
    }
  }
  const heads = new Set(compiled.map(({ prefix }) => escapePattern(prefix.slice(0, headUnits))));
  // Without any rule the expression matches nothing.
  return { ascii, flags, others, heads: new RegExp(heads.size === 0 ? "(?!)" : [...heads].join("|"), "g") };
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

function charTable(chars: string): Uint8Array {
  const matcher = new RegExp(`[${chars}]`);
  return Uint8Array.from({ length: 128 }, (_, code) => (matcher.test(String.fromCharCode(code)) ? 1 : 0));
}
