import type { Usage } from "../core/index.ts";

/** Tokens of a turn by what they were for. */
export type TokenType = "input" | "output" | "cache_read" | "cache_creation" | "reasoning";

/** The words that runners and providers have for each; the first that is there counts. */
const words: { readonly [Type in TokenType]: readonly string[] } = {
  input: ["input_tokens", "inputTokens", "prompt_tokens", "promptTokens"],
  output: ["output_tokens", "outputTokens", "completion_tokens", "completionTokens"],
  cache_read: ["cached_read_tokens", "cachedReadTokens", "cache_read_input_tokens", "cached_tokens"],
  cache_creation: ["cached_write_tokens", "cachedWriteTokens", "cache_creation_input_tokens"],
  reasoning: ["reasoning_tokens", "reasoningTokens", "thought_tokens", "thoughtTokens"],
};

/** All words of `TokenType`. */
export const tokenTypes = Object.keys(words) as readonly TokenType[];

/**
 * The figures of a usage whose names are known here. What was not reported is not there, and never 0: an empty list says
 * that nothing is known of the turn's tokens.
 */
export function tokensOf(usage: Usage | null): readonly { readonly type: TokenType; readonly tokens: number }[] {
  if (usage === null) return [];
  return tokenTypes.flatMap((type) => {
    const word = words[type].find((name) => Object.hasOwn(usage, name));
    const tokens = word === undefined ? undefined : usage[word];
    return tokens === undefined || !(tokens >= 0) || !Number.isFinite(tokens) ? [] : [{ type, tokens }];
  });
}
