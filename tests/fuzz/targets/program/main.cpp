// The program itself beside the fuzzer, where cli's main() has another name.
int linkcast_main(int argc, char** argv);

int main(int argc, char** argv) { return linkcast_main(argc, argv); }
