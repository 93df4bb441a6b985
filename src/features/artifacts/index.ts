/** Files that code keeps for the user and for other sessions, and the MCP resources that show them. */
export { type Artifacts, createArtifacts } from './artifacts.ts';
export { artifactMethods } from './calls.ts';
export { artifactResources } from './resources.ts';
export { readStoredArtifact, storedArtifacts } from './stored.ts';
