/** The pages of `docs` that are written for users: what each is about, in the order in which they are listed. */

/** `help NAME` prints `docs/NAME.md`, or the file that `fileOf` names. */
export const TOPICS = {
  guide: 'writing code for the sandbox, with samples',
  configuration: 'settings, server files, secrets',
  clients: 'registering the bridge in MCP clients',
  remote: 'servers with a url, logins, proxies',
  answers: 'what the agent gets back from a cell',
  engines: 'podman, docker, bubblewrap, embedded',
  platforms: 'Linux, macOS, Windows',
  security: 'what the sandbox enforces, and what it does not protect',
  policy: 'rules for what code may call',
  asking: 'approving calls, and questions from servers',
  audit: 'the record of cells and calls',
  cli: 'every command and option',
  errors: 'every error code',
  troubleshooting: 'when something does not work',
  migration: 'coming from the Python program of the same name',
  changelog: 'what changed in each version',
} as const;

export type Topic = keyof typeof TOPICS;

export const TOPIC_NAMES = Object.keys(TOPICS) as Topic[];

/** The file of a topic, from the root of the package. */
export function fileOf(topic: Topic): string {
  const path = topic === 'changelog' ? 'CHANGELOG' : `docs/${topic}`;
  return `${path}.md`;
}

export function isTopic(word: string): word is Topic {
  return Object.hasOwn(TOPICS, word);
}
