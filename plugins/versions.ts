import { satisfies, valid, validRange } from "semver";

/** Whether a text is a version: `1.2.3`, `1.2.3-beta.1`. */
export function isVersion(text: string): boolean {
  return valid(text) !== null;
}

/** Whether a text is a range of versions, as npm reads it: `^1.2.0`, `>=1 <3`, `*`. */
export function isVersionRange(text: string): boolean {
  return validRange(text) !== null;
}

/** Whether a version is in a range. A version before a release counts as one of its release. */
export function isInRange(version: string, range: string): boolean {
  return satisfies(version, range, { includePrerelease: true });
}
