/** The pages of `docs` that are written for users: what each is about, in the order in which they are listed. */

/** `help NAME` prints the file that `fileOf` names. */
export const TOPICS = {
  start: 'install, first cell, first server',
  guide: 'writing code for the bridge, with samples',
  servers: 'adding servers, their files and secrets',
  remote: 'servers with a url, logins, proxies',
  clients: 'registering the bridge in MCP clients',
  configuration: 'changing limits, engine and image',
  platforms: 'engines, and what runs on Linux, macOS, Windows',
  security: 'what the sandbox protects, and what it does not',
  policy: 'rules for what code may call',
  approvals: 'approving calls, and questions from servers',
  audit: 'the record of cells and calls',
  troubleshooting: 'when something does not work',
  comparison: 'what it saves compared with calling tools directly',
  migration: 'coming from the Python program of the same name',
  settings: 'every setting',
  commands: 'every command and option',
  errors: 'every error code',
  answers: 'the fields, text and size of an answer',
  engines: 'how each engine is started and detected',
  changelog: 'what changed in each version',
} as const;

export type Topic = keyof typeof TOPICS;

export const TOPIC_NAMES = Object.keys(TOPICS) as Topic[];

/** The pages that are in a folder of `docs`. */
const FOLDERS: Partial<Record<Topic, string>> = {
  settings: 'reference',
  commands: 'reference',
  errors: 'reference',
  answers: 'reference',
  engines: 'internals',
};

/** The file of a topic, from the root of the package. */
export function fileOf(topic: Topic): string {
  const path = topic === 'changelog' ? topic.toUpperCase() : ['docs', FOLDERS[topic] ?? [], topic].flat().join('/');
  return `${path}.md`;
}

/** The topic whose page is this file, from the root of the package; undefined if there is none. */
export function topicOf(file: string): Topic | undefined {
  return TOPIC_NAMES.find((topic) => fileOf(topic) === file);
}

export function isTopic(word: string): word is Topic {
  return Object.hasOwn(TOPICS, word);
}
