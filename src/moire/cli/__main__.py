from . import main

# Workers of a cluster are made from the same file, and call nothing.
if __name__ == "__main__":
    main()
