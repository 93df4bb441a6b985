/** Gets a measured value: of which kind it is says `telemetry/names.ts`. Must return quickly. */
export type Measure = (
  name: string,
  value: number,
  attributes?: Readonly<Record<string, string | number | boolean | undefined>>,
) => void;
