import { limits } from "./options.ts";
import {
  compileRules,
  defaultSecretRules,
  headUnits,
  mask,
  type CompiledRule,
  type RuleSet,
  type SecretRule,
} from "./secret-rules.ts";

/** Masks secrets in whole texts, and in texts that arrive in pieces. */
export interface Redactor {
  /** Masks the secrets of a whole text. */
  text(text: string): string;
  /** A redactor for one text that arrives in pieces; null when pieces pass as they are. */
  stream(): StreamRedactor | null;
  /** Registers further secrets, 9 to 4,096 characters each; streams that are open follow. */
  addLiterals(literals: Iterable<string>): void;
}

/** Lets every value pass: for hosts whose agents never see a secret. Secret keys of objects are masked all the same. */
export const noRedaction: Redactor = { text: (text) => text, stream: () => null, addLiterals: () => undefined };

/**
 * A redactor of the default rules and of secrets that are registered with it.
 * @param options.rules default: `defaultSecretRules`
 * @throws RoomtapError `invalid_params` for a literal that cannot be masked (9 to 4,096 characters, 1,024 of them at most)
 */
export function createRedactor(
  options: { readonly literals?: Iterable<string>; readonly rules?: readonly SecretRule[] } = {},
): Redactor {
  const rules = options.rules ?? defaultSecretRules;
  const literals = new Set(options.literals);
  const current = { set: compileRules(rules, literals) };
  const wholeTexts = new StreamRedactor(current);
  return {
    text: (text) => wholeTexts.whole(text),
    stream: () => new StreamRedactor(current),
    addLiterals(more) {
      const all = new Set([...literals, ...more]);
      current.set = compileRules(rules, all);
      for (const literal of all) literals.add(literal);
    },
  };
}

type Pattern = NonNullable<CompiledRule["pattern"]>;

/** No rule matches here. */
const no = 0;
/** The text ends before it is decided. */
const maybe = -1;

/**
 * Redacts one text that arrives in pieces. What can be decided only later is held back: the beginning of a literal, or a
 * prefix with fewer characters behind it than its rule's `min`. So at most 4,096 UTF-16 units are ever held.
 *
 * Whatever the cuts, what `push` gives adds up to the same text, and that is what `text` gives for the whole (I13).
 */
export class StreamRedactor {
  readonly #rules: { readonly set: RuleSet };
  /** Undecided and not shown yet. */
  #held = "";
  /** Undecided and let out by `flush`: shown as it is, or masked. It stands before `#held`. */
  #carry = "";
  #carryMasked = false;
  /** The character before `#carry` and `#held`: a rule needs a word's beginning. */
  #before = 0;
  /** A secret that was masked and goes on: what its rule still takes away. */
  #swallow: Pattern | null = null;
  #swallowLeft = 0;
  /** Of a secret with an `end`: its last characters, in which the end may have begun. */
  #swallowTail = "";
  /** Set by `#match`: the rule behind a positive result, if the secret may go on behind the text. */
  #open: Pattern | null = null;
  /** How many characters its rule allows it then. */
  #openLeft = 0;

  constructor(rules: { readonly set: RuleSet }) {
    this.#rules = rules;
  }

  /** Whether characters wait to be decided. */
  get holds(): boolean {
    return this.#held !== "";
  }

  /** Takes the next piece and gives what may leave now, "" when all of it is held. */
  push(piece: string): string {
    if (this.#held === "" && this.#carry === "" && this.#swallow === null) return this.#scan(piece, 0, false);
    const rest = this.#swallow === null ? piece : this.#takeAway(piece);
    if (rest === "") return "";
    return this.#scan(this.#carry + this.#held + rest, this.#carry.length, false);
  }

  /**
   * Lets out what is held, because a frame that is no delta follows, or the end. Up to 8 characters of what may be a
   * secret come out as they are, more come out masked; and what continues it later is masked too.
   */
  flush(): string {
    if (this.#held === "") return "";
    const undecided = this.#carry + this.#held;
    const show =
      !this.#carryMasked && undecided.length <= limits.maxShownTailUnits && this.#match(undecided, 0, true) <= 0;
    const out = show ? this.#held : this.#carryMasked ? "" : mask;
    this.#carryMasked ||= !show;
    this.#carry = undecided;
    this.#held = "";
    return out;
  }

  /** Masks a text that is whole: a tail that only begins like a secret is none. */
  whole(text: string): string {
    this.#before = 0;
    return this.#scan(text, 0, true);
  }

  /** @param shown so many characters at the beginning have left before, through `flush` */
  #scan(text: string, shown: number, final: boolean): string {
    let out = "";
    let copied = shown;
    for (let at = this.#candidate(text, 0); at >= 0;) {
      const previous = at > 0 ? text.charCodeAt(at - 1) : this.#before;
      const end = this.#match(text, at, final, previous);
      if (end === maybe) {
        if (at > copied) out += text.slice(copied, at);
        this.#before = previous;
        this.#carry = text.slice(at, Math.max(at, shown));
        this.#carryMasked &&= at < shown;
        this.#held = text.slice(Math.max(at, shown));
        return out;
      }
      if (end !== no) {
        if (at > copied) out += text.slice(copied, at);
        // A secret of which `flush` masked the beginning has its mask already.
        if (end > shown && !(at < shown && this.#carryMasked)) out += mask;
        copied = Math.max(end, shown);
        if (this.#open !== null) this.#startSwallow(this.#open, text.slice(at, end));
      }
      at = this.#candidate(text, end === no ? at + 1 : end);
    }
    if (text !== "") this.#before = text.charCodeAt(text.length - 1);
    this.#carry = "";
    this.#carryMasked = false;
    this.#held = "";
    return copied === 0 ? text : out + text.slice(copied);
  }

  /** The next place, from `from` on, where a secret may begin; -1 when there is none. Every delta passes here. */
  #candidate(text: string, from: number): number {
    const { flags, others, heads } = this.#rules.set;
    heads.lastIndex = from;
    const head = heads.exec(text)?.index ?? -1;
    const tail = Math.max(from, text.length - headUnits + 1);
    if (head >= 0 && head <= tail) return head;
    // A head that the text's end cuts off is found by its first character.
    for (let at = tail; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const flag = code < 128 ? flags[code] : others.has(code) ? 2 : 0;
      if (flag === 2 || (flag === 1 && !isWordCode(at > 0 ? text.charCodeAt(at - 1) : this.#before))) return at;
    }
    return -1;
  }

  /** The end of the longest secret that begins at `at`, `no`, or (unless `final`) `maybe`. */
  #match(text: string, at: number, final: boolean, previous: number = this.#before): number {
    const code = text.charCodeAt(at);
    const rules = code < 128 ? this.#rules.set.ascii[code] : this.#rules.set.others.get(code);
    if (rules === undefined) return no;
    const left = text.length - at;
    let best = no;
    this.#open = null;
    for (const { prefix, pattern } of rules) {
      if (pattern !== null && isWordCode(previous)) continue;
      if (left < prefix.length) {
        if (!final && prefix.startsWith(text.slice(at))) return maybe;
        continue;
      }
      if (!text.startsWith(prefix, at)) continue;
      const start = at + prefix.length;
      const end = pattern === null ? start : runEnd(text, start, pattern);
      const open =
        pattern !== null && end === text.length && end - start < pattern.max && !hasEnd(text, start, pattern);
      if (pattern !== null && end - start < pattern.min) {
        if (open && !final) return maybe;
        continue;
      }
      if (end > best) {
        best = end;
        this.#open = open && !final ? pattern : null;
        this.#openLeft = pattern === null ? 0 : pattern.max - (end - start);
      }
    }
    return best;
  }

  #startSwallow(pattern: Pattern, secret: string): void {
    this.#swallow = pattern;
    this.#swallowLeft = this.#openLeft;
    this.#swallowTail = pattern.end === null ? "" : secret.slice(1 - pattern.end.length);
  }

  /** What of `piece` stands behind the secret that goes on; "" while it still does. */
  #takeAway(piece: string): string {
    const pattern = this.#swallow;
    if (pattern === null || piece === "") return piece;
    // The tail is looked at again for an end that is split, and is gone already.
    const text = this.#swallowTail + piece;
    const start = this.#swallowTail.length;
    const bound = { ...pattern, max: start + this.#swallowLeft };
    const end = runEnd(text, 0, bound);
    if (end === text.length && piece.length < this.#swallowLeft && !hasEnd(text, 0, bound)) {
      this.#swallowLeft -= piece.length;
      if (pattern.end !== null) this.#swallowTail = text.slice(1 - pattern.end.length);
      this.#before = text.charCodeAt(text.length - 1);
      return "";
    }
    this.#swallow = null;
    this.#swallowTail = "";
    const rest = Math.max(end, start);
    if (rest > 0) this.#before = text.charCodeAt(rest - 1);
    return text.slice(rest);
  }
}

/** Where the run of a pattern's characters ends, `max` at most; with an `end`, behind it. */
function runEnd(text: string, start: number, pattern: Pattern): number {
  const last = Math.min(text.length, start + pattern.max);
  if (pattern.end !== null) {
    const at = text.indexOf(pattern.end, start);
    return at >= 0 && at + pattern.end.length <= last ? at + pattern.end.length : last;
  }
  let at = start;
  while (at < last) {
    const code = text.charCodeAt(at);
    if (code >= 128 || pattern.allowed[code] === 0) break;
    at++;
  }
  return at;
}

function hasEnd(text: string, start: number, pattern: Pattern): boolean {
  if (pattern.end === null) return false;
  return text.endsWith(pattern.end) && text.length - start >= pattern.end.length;
}

function isWordCode(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}
