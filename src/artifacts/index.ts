/** Files that code keeps for the person and for other sessions, and as resources of the bridge. */
export { createArtifacts } from './artifacts.ts';
export { artifactMethods } from './calls.ts';
export { artifactResources } from './resources.ts';
