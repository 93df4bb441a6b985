/** The pages of `docs` for users, each with a short description, in the order of the list. */

/** `help TOPIC` prints the page of the topic; `fileOf` locates it. */
export const TOPICS = {
  start: 'install, first cell, first server',
  guide: 'writing code for run_python, with examples',
  servers: 'adding servers, server files, secrets',
  remote: 'servers with a url, logins, proxies',
  apis: 'APIs without an MCP server: OpenAPI, GraphQL',
  egress: 'SDKs and HTTP from code, without a key in the sandbox',
  clients: 'registering the bridge in MCP clients',
  configuration: 'changing limits, the engine and the image',
  'extra-tools': 'tools for agents beside run_python',
  http: 'serving several clients over HTTP, tokens, proxies',
  users: 'what each user of a bridge over HTTP has',
  platforms: 'engines on Linux, macOS and Windows',
  kubernetes: 'running sessions as Pods of a cluster',
  deploy: 'running the bridge as a service',
  security: 'what the sandbox protects, and what it does not',
  sandboxes: 'what each engine protects less well than a container',
  policy: 'rules for what code may call',
  profiles: 'giving an agent a part of the servers',
  pins: 'when a server changes its tools',
  approvals: 'approving calls, and questions from servers',
  snippets: 'programs in other languages, and stored snippets',
  functions: 'keeping, sharing and running functions',
  schedules: 'running code at set times, without a person',
  live: 'what running bridges do now, and how to stop it',
  ui: 'a page that shows what agents do',
  'chat-view': 'answers as a view in the chat',
  audit: 'the log of cells and calls',
  telemetry: 'traces and metrics for OpenTelemetry and Prometheus',
  troubleshooting: 'when something does not work',
  comparison: 'cost compared with calling tools directly',
  migration: 'moving from the Python program of the same name, and others',
  settings: 'every setting',
  commands: 'every command and option',
  errors: 'every error code',
  answers: 'fields, text and size of an answer',
  engines: 'how each engine is detected and started',
  changelog: 'what changed in each version',
} as const;

export type Topic = keyof typeof TOPICS;

export const TOPIC_NAMES = Object.keys(TOPICS) as Topic[];

/** The pages that are in a subfolder of `docs`. */
const FOLDERS: Partial<Record<Topic, string>> = {
  settings: 'reference',
  commands: 'reference',
  errors: 'reference',
  answers: 'reference',
  engines: 'internals',
};

/** The file of a topic, relative to the root of the package. */
export function fileOf(topic: Topic): string {
  const path = topic === 'changelog' ? topic.toUpperCase() : ['docs', FOLDERS[topic] ?? [], topic].flat().join('/');
  return `${path}.md`;
}

/** The topic with this file, relative to the root of the package. */
export function topicOf(file: string): Topic | undefined {
  return TOPIC_NAMES.find((topic) => fileOf(topic) === file);
}

export function isTopic(word: string): word is Topic {
  return Object.hasOwn(TOPICS, word);
}
