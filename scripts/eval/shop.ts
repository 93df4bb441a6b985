/** A small web shop on loopback: lists of products, a page for each, an order form, and a page of offers. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createRandom } from '../../test/soak/random.ts';

export interface Product {
  readonly sku: string;
  readonly name: string;
  readonly category: string;
  readonly priceCents: number;
  readonly stock: number;
}

export interface Order {
  readonly sku: string;
  readonly quantity: string;
  readonly customer: string;
  readonly coupon: string;
}

export interface Shop {
  readonly url: string;
  readonly orders: readonly Order[];
  close(): Promise<void>;
}

export const COUPON = 'AUTUMN-7Q';
const PER_PAGE = 8;
const CATEGORIES = ['desk lamp', 'armchair', 'bookshelf', 'rug', 'wall clock', 'side table'];
const ADJECTIVES = ['Alder', 'Birch', 'Cedar', 'Dune', 'Ember', 'Fjord', 'Grove', 'Harbor'];

/** The same in every run. The two cheapest desk lamps are out of stock. */
export const PRODUCTS: readonly Product[] = createProducts();

function createProducts(): Product[] {
  const random = createRandom(41);
  const products = ADJECTIVES.flatMap((adjective) =>
    CATEGORIES.map((category) => ({
      sku: `P${1000 + random.below(9) + 10 * (ADJECTIVES.indexOf(adjective) * CATEGORIES.length + CATEGORIES.indexOf(category))}`,
      name: `${adjective} ${category}`,
      category,
      priceCents: 1_900 + random.below(18_000),
      stock: 1 + random.below(30),
    })),
  );
  const sold = cheapestFirst(products, 'desk lamp').slice(0, 2);
  return products.map((product) => (sold.includes(product) ? { ...product, stock: 0 } : product));
}

export function cheapestFirst(products: readonly Product[], category: string): Product[] {
  return products.filter((product) => product.category === category).toSorted((a, b) => a.priceCents - b.priceCents);
}

/** What the shop answers to an order. */
export function confirmationOf({ sku, quantity, customer, coupon }: Order): string {
  const digest = createHash('sha256').update([sku, quantity, customer, coupon].join('|')).digest('hex');
  return `C-${digest.slice(0, 8).toUpperCase()}`;
}

export function priceOf({ priceCents }: Product): string {
  return (priceCents / 100).toFixed(2);
}

/** Starts the shop on a free port of 127.0.0.1. */
export async function openShop(): Promise<Shop> {
  const orders: Order[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://shop');
    if (request.method === 'POST' && url.pathname === '/order') {
      void text(request).then((body) => takeOrder(response, body, orders));
      return;
    }
    const page = pageOf(url);
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(page ?? html('Not found', '<p>There is no such page.</p>'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    orders,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function takeOrder(response: ServerResponse, body: string, orders: Order[]): void {
  const form = new URLSearchParams(body);
  const [sku, quantity, customer, coupon] = ['sku', 'quantity', 'customer', 'coupon'].map(
    (name) => form.get(name)?.trim() ?? '',
  ) as [string, string, string, string];
  const stock = PRODUCTS.find((product) => product.sku === sku)?.stock ?? 0;
  const isPossible = /^[1-9]\d*$/.test(quantity) && Number(quantity) <= stock && customer !== '';
  response.writeHead(isPossible ? 200 : 422, { 'content-type': 'text/html; charset=utf-8' });
  if (!isPossible) {
    response.end(html('Not ordered', '<p>Not in stock in this quantity, or the name is missing.</p>'));
    return;
  }
  const order = { sku, quantity, customer, coupon };
  orders.push(order);
  response.end(html('Thank you', `<p>Your confirmation code is <b id="code">${confirmationOf(order)}</b>.</p>`));
}

function pageOf({ pathname, searchParams }: URL): string | undefined {
  if (pathname === '/') {
    return html('Home', '<p>Furniture for people who read. <a href="/products?page=1">All products</a>.</p>');
  }
  if (pathname === '/offers') {
    return html(
      'Offers',
      `<p>This month the coupon code <b>${COUPON}</b> takes 10 % off every order of two or more.</p>`,
    );
  }
  if (pathname === '/products') {
    return listPage(Number(searchParams.get('page') ?? 1));
  }
  const product = PRODUCTS.find(({ sku }) => pathname === `/product/${sku}`);
  return product === undefined ? undefined : productPage(product);
}

function listPage(page: number): string | undefined {
  const pages = Math.ceil(PRODUCTS.length / PER_PAGE);
  const shown = PRODUCTS.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  if (shown.length === 0) {
    return undefined;
  }
  const rows = shown.map(
    (product) =>
      `<tr><td>${product.sku}</td><td><a href="/product/${product.sku}">${product.name}</a></td><td>${priceOf(product)} EUR</td></tr>`,
  );
  const next = page < pages ? `<a href="/products?page=${page + 1}">Next page</a>` : '';
  return html(
    `Products, page ${page} of ${pages}`,
    `<table><tr><th>SKU</th><th>Product</th><th>Price</th></tr>${rows.join('\n')}</table><p>${next}</p>`,
  );
}

function productPage(product: Product): string {
  const { name, sku, stock } = product;
  const state = stock === 0 ? 'Sold out' : `In stock: ${stock}`;
  const form = `<form method="post" action="/order"><input type="hidden" name="sku" value="${sku}">
<label>Quantity <input id="quantity" name="quantity"></label>
<label>Your name <input id="customer" name="customer"></label>
<label>Coupon code <input id="coupon" name="coupon"></label>
<button id="order">Order</button></form>`;
  return html(name, `<p>${sku}, ${priceOf(product)} EUR. ${state}.</p>${stock === 0 ? '' : form}`);
}

function html(title: string, body: string): string {
  const menu = '<nav><a href="/">Home</a> <a href="/products?page=1">Products</a> <a href="/offers">Offers</a></nav>';
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,"></head><body>${menu}<h1>${title}</h1>${body}</body></html>`;
}
