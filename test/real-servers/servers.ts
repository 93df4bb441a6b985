/** Servers from npm that list their tools without a network or an account. Versions are pinned. */

export interface RealServer {
  /** `name@version` as npm installs it. */
  readonly spec: string;
  /** Arguments of the program; `FOLDER` is replaced by an empty folder. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A key of the required format that grants nothing. */
const KEY = 'not-a-key-0000000000000000000000';

export const REAL_SERVERS: Readonly<Record<string, RealServer>> = {
  everything: { spec: '@modelcontextprotocol/server-everything@2026.8.31' },
  filesystem: { spec: '@modelcontextprotocol/server-filesystem@2026.8.31', args: ['FOLDER'] },
  memory: { spec: '@modelcontextprotocol/server-memory@2026.8.31', env: { MEMORY_FILE_PATH: 'FOLDER/memory.jsonl' } },
  thinking: { spec: '@modelcontextprotocol/server-sequential-thinking@2026.8.31' },
  github: { spec: '@modelcontextprotocol/server-github@2025.4.8', env: { GITHUB_PERSONAL_ACCESS_TOKEN: KEY } },
  slack: {
    spec: '@modelcontextprotocol/server-slack@2025.4.25',
    env: { SLACK_BOT_TOKEN: `xoxb-${KEY}`, SLACK_TEAM_ID: 'T0' },
  },
  playwright: { spec: '@playwright/mcp@0.0.83', args: ['--caps=vision,pdf,testing,tracing', '--headless'] },
  chrome: { spec: 'chrome-devtools-mcp@1.11.0', args: ['--headless'] },
  context7: { spec: '@upstash/context7-mcp@4.1.1' },
  mongodb: {
    spec: 'mongodb-mcp-server@3.0.4',
    env: { MDB_MCP_CONNECTION_STRING: 'mongodb://127.0.0.1:9/test', MDB_MCP_TELEMETRY: 'disabled' },
  },
  notion: { spec: '@notionhq/notion-mcp-server@2.5.2', env: { NOTION_TOKEN: `ntn_${KEY}` } },
  gitlab: {
    spec: '@zereight/mcp-gitlab@2.1.64',
    env: {
      GITLAB_PERSONAL_ACCESS_TOKEN: KEY,
      GITLAB_API_URL: 'http://127.0.0.1:9/api/v4',
      USE_PIPELINE: 'true',
      USE_MILESTONE: 'true',
      USE_GITLAB_WIKI: 'true',
    },
  },
  azure: {
    spec: '@azure/mcp@2.0.5',
    args: ['server', 'start', '--mode', 'all'],
    env: { AZURE_MCP_COLLECT_TELEMETRY: 'false' },
  },
  git: { spec: '@cyanheads/git-mcp-server@2.15.3' },
  kubernetes: { spec: 'mcp-server-kubernetes@4.1.7' },
  firecrawl: { spec: 'firecrawl-mcp@3.22.2', env: { FIRECRAWL_API_KEY: `fc-${KEY}` } },
  tavily: { spec: 'tavily-mcp@0.2.22', env: { TAVILY_API_KEY: `tvly-${KEY}` } },
  sentry: { spec: '@sentry/mcp-server@0.36.0', args: ['--access-token', KEY] },
  stripe: { spec: '@stripe/mcp@0.2.5', args: ['--tools=all', `--api-key=sk_test_${KEY}`] },
  hubspot: { spec: '@hubspot/mcp-server@0.4.0', env: { PRIVATE_APP_ACCESS_TOKEN: `pat-${KEY}` } },
};
