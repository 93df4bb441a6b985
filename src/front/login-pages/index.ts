/** Pages of the HTTP server on which a user logs in at a server that is "per user". */
export { LoginPages } from './login-pages.ts';
