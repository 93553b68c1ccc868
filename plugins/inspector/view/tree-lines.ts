/** A line of a tree and what hangs below it. */
export interface TreeNode {
  /** On one line, made harmless. */
  readonly label: string;
  readonly children?: readonly TreeNode[];
}

/** A tree as lines with the usual branches. Pure. */
export function treeLines({ label, children = [] }: TreeNode): readonly string[] {
  return [label, ...children.flatMap((child, index) => branch(child, index === children.length - 1))];
}

function branch(node: TreeNode, isLast: boolean): readonly string[] {
  const [first = "", ...rest] = treeLines(node);
  return [`${isLast ? "└─ " : "├─ "}${first}`, ...rest.map((line) => `${isLast ? "   " : "│  "}${line}`)];
}
