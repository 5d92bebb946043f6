// What parquet.js exports. README.md has the command that makes it.
export { parquetReadObjects } from "hyparquet/src/read.js";
export { decompress } from "fzstd";
