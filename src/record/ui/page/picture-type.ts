/** Which pictures are drawn: raster pictures only. SVG and HTML can hold scripts and links. */

const RASTER = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'];

/** The type to draw it with, or undefined if it should not be drawn. */
export function pictureType(mimeType: string): string | undefined {
  const plain = mimeType.split(';')[0]?.trim().toLowerCase();
  return RASTER.find((type) => type === plain);
}
