import { limits } from "./options.ts";
import {
  compileRules,
  defaultSecretRules,
  headUnits,
  mask,
  type RuleSet,
  type SecretPattern,
  type SecretRule,
} from "./secret-rules.ts";
import { SecretRuns } from "./secret-runs.ts";

/** Masks secrets in whole texts, and in texts that arrive in pieces. */
export interface Redactor {
  /** Masks the secrets of a whole text. */
  text(text: string): string;
  /** A redactor for one text that arrives in pieces; null when pieces pass as they are. */
  stream(): StreamRedactor | null;
  /** Registers further secrets, 9 to 4,096 characters each, as they are and as JSON escapes them; open streams follow. */
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

/** No rule matches here. */
const no = 0;
/** The text ends before it is decided. */
const maybe = -1;

/**
 * Redacts one text that arrives in pieces. What can be decided only later is held back: the beginning of a literal, or a
 * prefix with fewer characters behind it than its rule's `min`. So at most 4,096 UTF-16 units are ever held.
 *
 * Secrets that overlap are masked as one, and one that touches another gets a mask of its own. Whatever the cuts, what
 * `push` gives adds up to the same text, and that is what `text` gives for the whole (I13).
 */
export class StreamRedactor {
  readonly #rules: { readonly set: RuleSet };
  /** Undecided and not out yet. */
  #held = "";
  /**
   * Out already, and looked at again: a secret may begin in it that ends in what comes. It stands before `#held`, and is
   * what `flush` let out, or masked text (16 KiB at most) in which a secret goes on or another one begins.
   */
  #carry = "";
  #carryMasked = false;
  /** The character before `#carry` and `#held`, 0 behind a secret: a rule needs a word's beginning. */
  #before = 0;
  /** Ends of runs in the text that is scanned; null until one is asked for. */
  #runs: SecretRuns | null = null;
  /** Set by `#match`: whether the secret may go on behind the text. */
  #isOpen = false;

  constructor(rules: { readonly set: RuleSet }) {
    this.#rules = rules;
  }

  /** Whether characters wait to be decided. */
  get holds(): boolean {
    return this.#held !== "";
  }

  /** Takes the next piece and gives what may leave now, "" when all of it is held. */
  push(piece: string): string {
    if (this.#held === "" && this.#carry === "") return this.#scan(piece, 0, false);
    return this.#scan(this.#carry + this.#held + piece, this.#carry.length, false);
  }

  /**
   * Lets out what is held, because a frame that is no delta follows, or the end. Up to 8 characters of what may be a
   * secret come out as they are, more come out masked; and what continues it later is masked too.
   */
  flush(): string {
    if (this.#held === "") return "";
    const undecided = this.#carry + this.#held;
    this.#runs = null;
    const show = undecided.length <= limits.maxShownTailUnits && this.#match(undecided, 0, true, this.#before) <= 0;
    const out = show ? this.#held : this.#carryMasked ? "" : mask;
    this.#carryMasked = !show;
    this.#carry = undecided;
    this.#held = "";
    return out;
  }

  /** Masks a text that is whole: a tail that only begins like a secret is none. */
  whole(text: string): string {
    this.#before = 0;
    return this.#scan(text, 0, true);
  }

  /**
   * Looks at every place where a secret may begin, also inside another one.
   * @param shown so many characters at the beginning are out already: they are `#carry`
   */
  #scan(text: string, shown: number, final: boolean): string {
    this.#runs = null;
    let out = "";
    /** Up to here the text is out. */
    let copied = shown;
    /** Where the last run of secrets that overlap ends. */
    let covered = this.#carryMasked ? shown : -1;
    /** The first place that has to be looked at again when more text comes. */
    let live = -1;
    let beforeLive = 0;
    for (let at = this.#candidate(text, 0, covered); at >= 0; at = this.#candidate(text, at + 1, covered)) {
      const previous = at === covered ? 0 : at > 0 ? text.charCodeAt(at - 1) : this.#before;
      const end = this.#match(text, at, final, previous);
      if (end === no) continue;
      if (live < 0 && (end === maybe || this.#isOpen)) [live, beforeLive] = [at, previous];
      if (at > copied) out += text.slice(copied, at);
      copied = Math.max(copied, at);
      if (end === maybe) break;
      if (at >= covered && end > shown) out += mask;
      covered = Math.max(covered, end);
      copied = Math.max(copied, covered);
      // All of the text is masked, and looked at again with what comes: a run of secrets is not searched at each piece.
      if (live >= 0 && covered === text.length) break;
    }
    if (live >= 0) {
      this.#before = beforeLive;
      this.#carry = text.slice(live, copied);
      this.#carryMasked = covered === copied && covered > live;
      this.#held = text.slice(copied);
      return out;
    }
    if (text !== "") this.#before = covered === text.length ? 0 : text.charCodeAt(text.length - 1);
    this.#carry = "";
    this.#carryMasked = false;
    this.#held = "";
    return copied === 0 ? text : out + text.slice(copied);
  }

  /**
   * The next place, from `from` on, where a secret may begin; -1 when there is none. Every delta passes here.
   * @param covered behind a secret that ends here a word begins
   */
  #candidate(text: string, from: number, covered: number): number {
    const { flags, others, heads } = this.#rules.set;
    heads.lastIndex = from;
    const head = heads.exec(text)?.index ?? -1;
    const tail = Math.max(from, text.length - headUnits + 1);
    if (head >= 0 && head <= tail) return head;
    // A head that the text's end cuts off is found by its first character.
    for (let at = tail; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const flag = code < 128 ? flags[code] : others.has(code) ? 2 : 0;
      if (flag === 2) return at;
      if (flag === 1 && (at === covered || !isWordCode(at > 0 ? text.charCodeAt(at - 1) : this.#before))) return at;
    }
    return -1;
  }

  /** The end of the longest secret that begins at `at`, `no`, or (unless `final`) `maybe`. */
  #match(text: string, at: number, final: boolean, previous: number): number {
    const code = text.charCodeAt(at);
    const rules = code < 128 ? this.#rules.set.ascii[code] : this.#rules.set.others.get(code);
    if (rules === undefined) return no;
    const left = text.length - at;
    let best = no;
    this.#isOpen = false;
    for (const { prefix, pattern } of rules) {
      if (pattern !== null && isWordCode(previous)) continue;
      if (left < prefix.length) {
        if (!final && prefix.startsWith(text.slice(at))) return maybe;
        continue;
      }
      if (!text.startsWith(prefix, at)) continue;
      const start = at + prefix.length;
      if (pattern === null) {
        best = Math.max(best, start);
        continue;
      }
      const end = (this.#runs ??= new SecretRuns(text)).end(start, pattern);
      const isOpen = !final && end === text.length && end - start < pattern.max && !hasEnd(text, start, pattern);
      if (end - start < pattern.min) {
        if (isOpen) return maybe;
        continue;
      }
      best = Math.max(best, end);
      this.#isOpen ||= isOpen;
    }
    return best;
  }
}

function hasEnd(text: string, start: number, pattern: SecretPattern): boolean {
  if (pattern.end === null) return false;
  return text.endsWith(pattern.end) && text.length - start >= pattern.end.length;
}

function isWordCode(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}
