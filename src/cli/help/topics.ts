/** The pages of `docs` that are written for users: what each is about, in the order in which they are listed. */

/** `help NAME` prints `docs/NAME.md`, or the page of that name in one of its `FOLDERS`. */
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

/** The pages that are in a folder of `docs`. */
const FOLDERS: Partial<Record<Topic, string>> = { engines: 'internals' };

/** Where the page of a topic is, below `docs`. */
export function fileOf(topic: Topic): string {
  const folder = FOLDERS[topic];
  return folder === undefined ? `${topic}.md` : `${folder}/${topic}.md`;
}

/** The topic whose page is this file below `docs`, if there is one. */
export function topicOf(file: string): Topic | undefined {
  return TOPIC_NAMES.find((topic) => fileOf(topic) === file);
}

export function isTopic(word: string): word is Topic {
  return Object.hasOwn(TOPICS, word);
}
