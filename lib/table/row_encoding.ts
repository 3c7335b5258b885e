/** Rows are described in the checkpoint's room; the table's users find the description here too. */
export { rowEncoding, SCALE_GROUP } from "../checkpoint/row_encoding.ts";
