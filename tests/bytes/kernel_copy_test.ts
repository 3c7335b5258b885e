import { Buffer } from "node:buffer";
import { equal } from "node:assert/strict";
import { openFile } from "../../lib/bytes/file_source.ts";
import { kernelCopy } from "../../lib/bytes/kernel_copy.ts";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { inFolder } from "./in_folder.ts";

Deno.test({
  name: "the kernel copies between files at any offsets, and leaves few bytes to others",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    inFolder((folder) => {
      const bytes = new Uint8Array(9 * 2 ** 20).map((_, i) => i >>> 11);
      Deno.writeFileSync(`${folder}/from`, bytes);
      const from = openFile(`${folder}/from`);
      using to = OutputFile.create(`${folder}/to`);
      to.write(bytes.subarray(0, 5));
      const descriptor = from.descriptor as number;
      equal(to.copyFrom(descriptor, 0, 5, 1000), 0);
      let done = 0;
      while (bytes.length - 7 - done >= 4 * 2 ** 20) {
        done += to.copyFrom(descriptor, 7 + done, 5 + done, bytes.length - 7 - done);
      }
      to.commit();
      const copied = Deno.readFileSync(`${folder}/to`);
      equal(Buffer.compare(copied.subarray(5), bytes.subarray(7, 7 + done)), 0);
      // Descriptors that are not open fail, and nothing is copied.
      equal(kernelCopy(-1, 0, -1, 0, 2 ** 30), 0);
      from.close();
    }),
});
