/** Requests that code sends itself, with the libraries of APIs or `runtime.fetch`, through the host and its gates. */
export { EgressBroker, type EgressOptions } from './broker.ts';
export { fetchMethod } from './fetch-method.ts';
