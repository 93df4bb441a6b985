/** Tasks in a web shop: in a real browser, or over HTTP without one. */
import { COUPON, cheapestFirst, confirmationOf, PRODUCTS, priceOf } from '../shop.ts';
import { type EvalTask, expectAnswer, expectList } from './task.ts';

const CUSTOMER = 'Mara Lindqvist';

const ORDER_LAMPS: EvalTask = {
  id: 'order-lamps',
  title: 'find a product in a web shop and order it',
  usesShop: true,
  build: () => undefined,
  prompt: ({ shop }) =>
    `In the web shop ${shop.url}, order 2 pieces of the cheapest desk lamp that is in stock, in one order, for the customer "${CUSTOMER}", with the coupon code from the page of offers. State the confirmation code.`,
  check({ shop }, answer) {
    const lamp = cheapestFirst(PRODUCTS, 'desk lamp').find(({ stock }) => stock > 1);
    const expected = { sku: lamp?.sku ?? '', quantity: '2', customer: CUSTOMER, coupon: COUPON };
    return [
      ...expectAnswer(JSON.stringify(shop.orders), JSON.stringify([expected])),
      ...expectAnswer(answer, confirmationOf(expected)),
    ];
  },
};

const WRONG = new Set([4, 17, 23, 38, 46]);

const COMPARE_PRICES: EvalTask = {
  id: 'compare-prices',
  title: `compare ${PRODUCTS.length} prices in a web shop with a list`,
  usesShop: true,
  build(workspace) {
    const lines = PRODUCTS.map((product, index) =>
      WRONG.has(index)
        ? `${product.sku},${priceOf({ ...product, priceCents: product.priceCents + 100 })}`
        : `${product.sku},${priceOf(product)}`,
    );
    workspace.write('shop/prices.csv', `sku,price\n${lines.toSorted().join('\n')}\n`);
  },
  prompt: ({ shop }) =>
    `shop/prices.csv lists the prices that the web shop ${shop.url} should have. State the SKUs of the products whose price in the shop differs, separated by commas.`,
  check: (_workspace, answer) =>
    expectList(
      answer,
      PRODUCTS.filter((_, index) => WRONG.has(index)).map(({ sku }) => sku),
    ),
};

export const SHOP_TASKS: readonly EvalTask[] = [ORDER_LAMPS, COMPARE_PRICES];
