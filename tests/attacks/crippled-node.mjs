// Takes away what sockets are read into memory of ours by, as another version of Node might.
for (let proto = process.binding('tcp_wrap').TCP.prototype; proto; proto = Object.getPrototypeOf(proto)) {
  delete proto.useUserBuffer;
}
